"""Objects at the API's limits of size, in every family of plugins: bounded work on 5,000 nodes, work that grows no
faster than the nodes, and nothing left when they are gone.

Work is counted, see `work`.
"""

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.framework.cache.recount import differences
from muster.framework.contract import WatchedKind
from muster.framework.embedded.clock import VirtualClock
from muster.framework.model import pod_info
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.run_seconds import RUN_SECONDS
from muster.framework.scheduler.engine import Engine
from muster.operator.explain.frozen_engine import frozen_engine
from muster.operator.process.settings import assemble, muster_configuration
from muster.plugins.limits.pod_limits import PodLimitsArgs
from muster.plugins.reservation.plugin import reserved_in
from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.security.shapes import SHAPES
from tests.security.work import MOST_CALLS, Work, bounded, countable, counted

CALLS_WITHIN_LIMITS = 180_000
"""For a pod that no limit turns away: the limits are low enough for that."""
LARGEST_OBJECT = 1_500_000
"""Bytes that etcd takes."""
NODES = 5_000
FEW_NODES = 1_250
CALLS_OF_A_NODE = 8
"""For each node more, where every node has a value of its own for a label that the pod goes by."""
ELEMENTS_OF_ANY_NODES = 1_000
"""In one step, of arrays that are as long whatever the number of nodes."""


def typed(pod: PodDict, node: str = "") -> Pod:
    """The pod as the engine gets it, on a node that another scheduler chose if one is named."""
    return msgspec.convert({**pod, "spec": {**pod["spec"], "nodeName": node}}, Pod)


@cache
def made_nodes(count: int) -> Sequence[Node]:
    """Nodes of which each differs from the others. They are never changed, so they are made once."""
    made = (
        make_node(f"n{n}")
        .zone(f"z{n % 3}")
        .labels({"example.com/size": str(n)})
        .taint("soft", effect="PreferNoSchedule")
        for n in range(count)
    )
    return [msgspec.convert(dict(node), Node) for node in made]


def cluster(objects: Mapping[WatchedKind, Iterable[Any]] = {}, nodes: int = NODES) -> Engine:
    with countable():
        return frozen_engine(assemble(muster_configuration()), made_nodes(nodes), [], objects)


def held(engine: Engine) -> tuple[object, ...]:
    """What grows with what pods ask for, if anything does."""
    engine.queue.flush(1e6)  # what is gone leaves its place in a heap when its time has come
    gc.collect()
    snapshot = engine.cache.snapshot
    return (
        [name for name in snapshot.resources.names if name],
        dict(snapshot.resources.unoffered()),
        sorted(snapshot.labels.keys),
        len(pod_info._signatures),
    )


def large(shapes: list[str], share: float) -> PodDict:
    pod = make_pod("large")
    for name in shapes:
        add, most = SHAPES[name]
        for number in range(int(most * share / len(shapes))):
            add(pod, number)
    return pod


def decide(engine: Engine) -> None:
    engine.queue.flush(0.0)
    while engine.scheduler.step():
        pass


def change_a_node(engine: Engine, most: int = MOST_CALLS) -> Work:
    """A label of a node changes, and changes back."""
    old = engine.cache.snapshot.nodes[3]
    assert old is not None
    new = msgspec.structs.replace(old, metadata=msgspec.structs.replace(old.metadata, labels={"example.com/size": "9"}))
    work = bounded("a node changes", lambda: engine.node_handler.on_update(old, new), most)
    engine.node_handler.on_update(new, old)
    return work


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("assigned", ["", "n7"], ids=["to be placed", "bound by hand"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_pod_at_its_largest_costs_bounded_work_and_leaves_nothing(shape: str, assigned: str) -> None:
    engine = cluster()
    before = held(engine)
    hold_a_large_pod(engine, [shape], 1.0, assigned)
    assert held(engine) == before


def hold_a_large_pod(engine: Engine, shapes: list[str], share: float, assigned: str) -> None:
    hold(engine, typed(large(shapes, share), assigned), MOST_CALLS)


def hold(engine: Engine, pod: Pod, most: int) -> list[Work]:
    """A large pod comes, others come and go beside it, its nodes change, and it goes. The work of each step."""
    other = typed(make_pod("other").labels(app="x"))
    steps = [
        bounded("the pod comes", lambda: engine.pod_handler.on_add(pod), most),
        bounded("it is decided", lambda: decide(engine), most),
        bounded("another comes", lambda: engine.pod_handler.on_add(other), most),
        bounded("the other is decided", lambda: decide(engine), most),
    ]
    engine.pod_handler.on_delete(other)
    steps += [
        change_a_node(engine, most),
        bounded("it is decided again", lambda: decide(engine), most),
        bounded("the pod goes", lambda: engine.pod_handler.on_delete(pod), most),
    ]
    assert differences(engine.cache) == []
    return steps


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(SHAPES)), min_size=2, max_size=3, unique=True),
    st.floats(0.05, 1.0),
    st.sampled_from(["", "n7"]),
)
def test_any_mixture_that_is_as_large_costs_no_more(shapes: list[str], share: float, assigned: str) -> None:
    hold_a_large_pod(cluster(), shapes, share, assigned)


LIMITED: dict[str, tuple[str, ...]] = {
    "requested_resources": ("requests", "requests and limits"),
    "containers": ("containers", "init containers", "images"),
    "host_ports": ("host ports",),
    "tolerations": ("tolerations",),
    "node_selector_labels": ("node selector",),
    "node_affinity_expressions": ("required terms", "required names", "preferred terms", "bounds", "preferred bounds"),
    "joint_node_affinity_expressions": ("joint terms",),
    "pod_affinity_terms": ("affinity", "own topologies", "anti-affinity"),
    "topology_spread_constraints": ("spreading",),
    "volumes": ("claims",),
}
"""By name of a limit: the shapes that it bounds."""


def at_the_limit(field: str, shape: str) -> PodDict:
    """A pod with as many of these as the limit lets through."""
    pod, (add, _) = make_pod("large"), SHAPES[shape]
    most: int = getattr(PodLimitsArgs(), field)
    for number in range(most // 2 if field.startswith(("joint", "containers")) else most):
        add(pod, number)
    return pod


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize(("field", "shape"), [(field, shape) for field, shapes in LIMITED.items() for shape in shapes])
def test_work_on_a_pod_at_a_limit_grows_no_faster_than_the_nodes(field: str, shape: str) -> None:
    pod = typed(at_the_limit(field, shape))
    few, many = (hold(cluster(nodes=nodes), pod, CALLS_WITHIN_LIMITS) for nodes in (FEW_NODES, NODES))
    for before, after in zip(few, many, strict=True):
        assert after.calls - before.calls <= CALLS_OF_A_NODE * (NODES - FEW_NODES)
        assert after.elements <= before.elements * NODES / FEW_NODES + ELEMENTS_OF_ANY_NODES
    assert max(work.elements for work in many) >= NODES  # the columns were looked at, and counted


KINDS = 300


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("limit", ["pod_affinity_terms", "topology_spread_constraints"])
def test_selectors_that_go_by_no_label_cost_bounded_work_beside_many_kinds_of_pods(limit: str) -> None:
    engine = cluster()
    for number in range(2 * NODES):
        engine.pod_handler.on_add(typed(make_pod(f"runs-{number}").labels(app=f"a{number % KINDS}"), f"n{number // 2}"))
    pod, most = make_pod("large"), getattr(PodLimitsArgs(), limit)
    for number in range(most):
        unlike = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [f"a{number}"]}]}
        if limit == "pod_affinity_terms":
            _avoid(pod, {"topologyKey": "kubernetes.io/hostname", "labelSelector": unlike})
        else:
            pod.spread(f"example.com/t-{number}", {}, labelSelector=unlike, whenUnsatisfiable="ScheduleAnyway")
    hold(engine, typed(pod), MOST_CALLS)


def _avoid(pod: PodDict, term: dict[str, Any]) -> None:
    apart = pod["spec"].setdefault("affinity", {}).setdefault("podAntiAffinity", {})
    preferred = apart.setdefault("preferredDuringSchedulingIgnoredDuringExecution", [])
    preferred.append({"weight": 1, "podAffinityTerm": term})


def test_elements_of_columns_and_of_what_is_derived_from_them_are_counted() -> None:
    with countable():
        column = np.zeros(NODES, np.int64)
    with counted() as work:
        big = (column + 1)[np.arange(0, NODES, 2)]
        np.cumsum(big)
        big.sum()
    assert work.elements == NODES + 3 * (NODES // 2)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_pod_that_has_as_much_as_the_limits_let_it_costs_no_more(data: st.DataObject) -> None:
    limits, pod = PodLimitsArgs(), make_pod("large")
    for field in data.draw(st.lists(st.sampled_from(sorted(LIMITED)), min_size=3, unique=True)):
        shape, _ = SHAPES[data.draw(st.sampled_from(LIMITED[field]))]
        most: int = getattr(limits, field)
        for number in range(most // 2 if field.startswith(("joint", "containers")) else most):
            shape(pod, number)
    if len(msgspec.json.encode(pod)) < LARGEST_OBJECT:
        hold(cluster(), typed(pod), CALLS_WITHIN_LIMITS)


RESERVED_FOR = {
    "containers": 1.0,
    "init containers": 0.5,
    "images": 1.0,
    "host ports": 1.0,
    "tolerations": 1.0,
    "preferred terms": 1.0,
    "preferred bounds": 1.0,
    "anti-affinity": 1.0,
    "labels": 1.0,
    "annotations": 1.0,
}
"""Shapes of pods that capacity is reserved for, with the part of a limit that is left to them."""


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("shape", RESERVED_FOR)
def test_capacity_is_reserved_for_a_large_pod_at_a_bounded_cost_and_released_with_it(
    monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    now = 0.0
    monkeypatch.setattr(VirtualClock, "now", lambda clock: now)
    engine, plain = cluster(), make_pod("large").requests(cpu="2")
    for number in range(NODES):
        runs = make_pod(f"runs-{number}").requests(cpu="4").annotations({RUN_SECONDS: str(1_000 + number)})
        engine.pod_handler.on_add(typed(runs, f"n{number}"))
    before = held(engine)
    field = next((field for field, shapes in LIMITED.items() if shape in shapes), "")
    add, most = SHAPES[shape]
    for number in range(int(RESERVED_FOR[shape] * getattr(PodLimitsArgs(), field, most)) - 1):
        add(plain, number)
    pod = typed(plain)
    bounded("the pod comes", lambda: engine.pod_handler.on_add(pod))
    bounded("it is decided", lambda: decide(engine))
    assert not reserved_in(engine.shared)

    now = 400.0
    engine.queue.activate([pod_info.PodInfo(pod)])
    bounded("room is reserved", lambda: decide(engine))
    assert reserved_in(engine.shared)
    small = typed(make_pod("small").requests(cpu="1"))
    bounded("another comes", lambda: engine.pod_handler.on_add(small))
    bounded("the other is decided", lambda: decide(engine))
    engine.pod_handler.on_delete(small)
    bounded("the pod goes", lambda: engine.pod_handler.on_delete(pod))
    assert not reserved_in(engine.shared)
    assert held(engine) == before


NODE_SHAPES: dict[str, tuple[Callable[[NodeDict, int], object], int]] = {
    "resources": (lambda node, n: node.resources({f"example.com/r-{n}": "1"}), 10_000),
    "labels": (lambda node, n: node.labels({f"example.com/k-{n}": "x"}), 20_000),
    "taints": (lambda node, n: node.taint(f"example.com/t-{n}", effect="PreferNoSchedule"), 10_000),
    "images": (lambda node, n: node.image(f"example.com/image-{n}", size=1), 10_000),
}


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("shape", NODE_SHAPES)
def test_a_node_at_its_largest_costs_bounded_work_and_leaves_nothing(shape: str) -> None:
    engine = cluster()
    before = held(engine)
    add, most = NODE_SHAPES[shape]
    plain = make_node("large")
    for number in range(most):
        add(plain, number)
    node, pod = msgspec.convert(dict(plain), Node), typed(make_pod("other"))
    bounded("the node comes", lambda: engine.node_handler.on_add(node))
    bounded("a pod comes", lambda: engine.pod_handler.on_add(pod))
    bounded("it is decided", lambda: decide(engine))
    engine.pod_handler.on_delete(pod)
    bounded("the node goes", lambda: engine.node_handler.on_delete(node))
    assert held(engine) == before
