"""Kept verdicts and scores equal fresh ones, whatever happened to the cluster between two looks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.framework.model.meta import ObjectMeta
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.workloads import LabelledPods, Service
from muster.framework.runtime.attempt_state import AttemptState
from muster.framework.scheduler.algorithm import Algorithm, Feasible
from muster.framework.scheduler.explain import explain
from muster.framework.scheduler.ports import first_of_equals
from muster.operator.explain.frozen_engine import frozen_engine
from muster.operator.process.settings import assemble, muster_configuration
from tests.builders import make_node, make_pod, require
from tests.runtime.frameworks import algorithm_of

_ASSEMBLY = assemble(muster_configuration())
_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
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
    make_pod("web").labels(app="web"),
    make_pod("lonely").labels(app="web").apart(_HOST, {"app": "web"}),
    make_pod("clingy").labels(app="web").near(_ZONE, {"app": "web"}),
    make_pod("shy").labels(app="db").apart(_ZONE, {"app": "web"}, weight=3).near(_HOST, {"app": "db"}, weight=2),
    make_pod("even").labels(app="web").spread(_ZONE, {"app": "web"}),
    make_pod("even-among-reached")
    .labels(app="db")
    .tolerate("dedicated")
    .spread(_HOST, {"app": "db"}, nodeTaintsPolicy="Honor", minDomains=2),
    make_pod("evener").labels(app="web").spread(_ZONE, {"app": "web"}, whenUnsatisfiable="ScheduleAnyway"),
    make_pod("stranger", namespace="other").labels(app="web").apart(_HOST, {}, namespaceSelector={}, labelSelector={}),
]

kinds = st.sampled_from(_POD_KINDS)
names = st.sampled_from(_NODES)


def _nodes(name: str) -> st.SearchStrategy[dict[str, Any]]:
    def build(
        cpu: str, disk: str, tainted: bool, cordoned: bool, gpus: int, size: int, zone: str | None
    ) -> dict[str, Any]:
        node = make_node(name, cpu=cpu, pods="4").labels(disk=disk).image("registry.example/app:v1", size=size)
        node = node.resources({"example.com/gpu": str(gpus)}) if gpus else node
        node = node.taint("dedicated") if tainted else node
        node = node.zone(zone) if zone else node
        return dict(node.unschedulable() if cordoned else node)

    return st.builds(
        build,
        st.sampled_from(["1", "4", "8"]),
        st.sampled_from(["ssd", "hdd"]),
        st.booleans(),
        st.booleans(),
        st.integers(0, 2),
        st.sampled_from([1_000_000, 900_000_000]),
        st.sampled_from([None, "a", "b"]),
    )


changes = st.lists(
    st.one_of(
        names.flatmap(lambda name: st.tuples(st.just("node"), _nodes(name))),
        st.tuples(st.just("no node"), names),
        st.tuples(st.just("pod"), st.tuples(kinds, names)),
        st.tuples(st.just("no pod"), st.integers(0, 50)),
        st.tuples(st.just("relabel"), st.tuples(st.integers(0, 50), st.sampled_from(["web", "db"]), st.booleans())),
        st.tuples(st.just("service"), st.sampled_from([None, "web", "db"])),
        st.tuples(st.just("try"), st.tuples(kinds, names, kinds)),
        st.tuples(st.just("look"), kinds),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=150)
@given(changes)
def test_a_warm_search_says_what_a_new_one_says(steps: list[tuple[str, Any]]) -> None:
    engine = frozen_engine(_ASSEMBLY, [], [])
    [warm] = engine.algorithms.values()
    snapshot = engine.cache.snapshot
    running: list[tuple[PodInfo, str]] = []
    [services] = [handler for kind, handler in engine.object_handlers.items() if kind.resource == "Service"]
    picked: Service | None = None
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
            case "relabel" if running:
                index = detail[0] % len(running)
                running[index] = (_changed(running[index][0], *detail[1:]), running[index][1])
                snapshot.refresh_pod(*running[index])
            case "service":
                before, picked = picked, None if detail is None else _service(detail)
                services.on_update(before, picked)
            case "try":
                tried, name, looking = detail
                with snapshot.trial():
                    snapshot.add_pod(_pod(tried, "tried"), name)
                    _agree_with_rebuilt(warm, picked, _pod(looking, "looked-at"))
            case "look":
                if picked is None:
                    fresh = algorithm_of(_ASSEMBLY.profiles[0], _ASSEMBLY.registry, snapshot)
                    _agree(warm, fresh, _pod(detail, "looked-at"))
                _agree_with_rebuilt(warm, picked, _pod(detail, "looked-at"))


def _agree(warm: Algorithm, fresh: Algorithm, pod: PodInfo) -> None:
    mine, theirs = AttemptState(), AttemptState()
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


def _agree_with_rebuilt(warm: Algorithm, service: Service | None, pod: PodInfo) -> None:
    """An engine just made of the same objects decides the same; rows, and so the first of equals, may differ."""
    snapshot = warm.snapshot
    kinds = {kind: [service] for kind in _ASSEMBLY.watched() if kind.resource == "Service" and service is not None}
    rebuilt = frozen_engine(_ASSEMBLY, [node for node in snapshot.nodes if node is not None], [], kinds)
    for row, pods in enumerate(snapshot.pods):
        for running in pods.values():
            rebuilt.cache.snapshot.add_pod(running, snapshot.names[row])
    [fresh] = rebuilt.algorithms.values()
    ours, theirs = explain(warm, pod), explain(fresh, pod)
    assert replace(ours, chosen="") == replace(theirs, chosen="")


def _changed(info: PodInfo, app: str, ends: bool) -> PodInfo:
    stamp = "2026-01-01T00:00:00Z" if ends else None
    meta = msgspec.structs.replace(info.pod.metadata, labels={"app": app}, deletion_timestamp=stamp)
    return PodInfo(msgspec.structs.replace(info.pod, metadata=meta))


def _service(app: str) -> Service:
    return Service(ObjectMeta(name="service", namespace="default"), LabelledPods(selector={"app": app}))


def _verdicts(found: Feasible) -> Mapping[str, Any]:
    return {} if found.diagnosis is None else dict(found.diagnosis.statuses())


def _pod(kind: Mapping[str, Any], name: str) -> PodInfo:
    plain = {**kind, "metadata": {**kind["metadata"], "name": name, "uid": name}}
    return PodInfo(msgspec.convert(plain, Pod))
