"""Kept verdicts and scores equal fresh ones, whatever happened to the cluster between two looks."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.framework.contract import CycleState
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.ports import first_of_equals
from muster.framework.scheduler.schedule_one import Algorithm, Feasible
from muster.operator.explain.picture import picture
from muster.operator.process.settings import assemble, muster_configuration
from tests.builders import make_node, make_pod, require
from tests.runtime.frameworks import algorithm_of

_ASSEMBLY = assemble(muster_configuration())
_NODES = [f"n{number}" for number in range(6)]

_POD_KINDS = [
    make_pod("plain").requests(cpu="1"),
    make_pod("large").requests(cpu="3", memory="2Gi"),
    make_pod("gpu").requests({"example.com/gpu": "1"}, cpu="100m"),
    make_pod("port").host_port(8080),
    make_pod("choosy").node_selector({"disk": "ssd"}).requests(cpu="500m"),
    make_pod("wishful").prefer_nodes(5, require("disk", "In", "hdd")).requests(cpu="200m"),
    make_pod("tolerant").tolerate("dedicated", effect="NoSchedule"),
    make_pod("nothing"),
]

kinds = st.sampled_from(_POD_KINDS)
names = st.sampled_from(_NODES)


def _nodes(name: str) -> st.SearchStrategy[dict[str, Any]]:
    def build(cpu: str, disk: str, tainted: bool, cordoned: bool, gpus: int, size: int) -> dict[str, Any]:
        node = make_node(name, cpu=cpu, pods="4").labels(disk=disk).image("registry.example/app:v1", size=size)
        node = node.resources({"example.com/gpu": str(gpus)}) if gpus else node
        node = node.taint("dedicated") if tainted else node
        return dict(node.unschedulable() if cordoned else node)

    return st.builds(
        build,
        st.sampled_from(["1", "4", "8"]),
        st.sampled_from(["ssd", "hdd"]),
        st.booleans(),
        st.booleans(),
        st.integers(0, 2),
        st.sampled_from([1_000_000, 900_000_000]),
    )


changes = st.lists(
    st.one_of(
        names.flatmap(lambda name: st.tuples(st.just("node"), _nodes(name))),
        st.tuples(st.just("no node"), names),
        st.tuples(st.just("pod"), st.tuples(kinds, names)),
        st.tuples(st.just("no pod"), st.integers(0, 50)),
        st.tuples(st.just("look"), kinds),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=150)
@given(changes)
def test_a_warm_search_says_what_a_new_one_says(steps: list[tuple[str, Any]]) -> None:
    engine = picture(_ASSEMBLY, [], [])
    [warm] = engine.algorithms.values()
    snapshot = engine.cache.snapshot
    running: list[tuple[PodInfo, str]] = []
    for number, (what, detail) in enumerate(steps):
        match what:
            case "node":
                engine.cache.set_node(msgspec.convert(detail, Node))
            case "no node":
                engine.cache.remove_node(detail)
            case "pod":
                running.append((_pod(detail[0], f"p{number}"), detail[1]))
                snapshot.add_pod(*running[-1])
            case "no pod" if running:
                snapshot.remove_pod(*running.pop(detail % len(running)))
            case "look":
                fresh = algorithm_of(_ASSEMBLY.profiles[0], _ASSEMBLY.registry, snapshot)
                _agree(warm, fresh, _pod(detail, "looked-at"))


def _agree(warm: Algorithm, fresh: Algorithm, pod: PodInfo) -> None:
    mine, theirs = CycleState(), CycleState()
    kept, new = warm.find_nodes_that_fit(mine, pod), fresh.find_nodes_that_fit(theirs, pod)
    assert kept.rows.tolist() == new.rows.tolist()
    assert kept.status == new.status
    assert _verdicts(kept) == _verdicts(new)
    if len(kept.rows):
        ours, others = warm.prioritize_nodes(mine, pod, kept.rows), fresh.prioritize_nodes(theirs, pod, new.rows)
        assert not hasattr(ours, "code")
        assert not hasattr(others, "code")
        assert {name: scores.tolist() for name, scores in ours.by_plugin.items()} == {
            name: scores.tolist() for name, scores in others.by_plugin.items()
        }
        assert np.array_equal(ours.totals, others.totals)
        assert warm.select_host(mine, pod, kept, first_of_equals) == fresh.select_host(
            theirs, pod, new, first_of_equals
        )


def _verdicts(found: Feasible) -> Mapping[str, Any]:
    return {} if found.diagnosis is None else dict(found.diagnosis.statuses())


def _pod(kind: Mapping[str, Any], name: str) -> PodInfo:
    plain = {**kind, "metadata": {**kind["metadata"], "name": name, "uid": name}}
    return PodInfo(msgspec.convert(plain, Pod))
