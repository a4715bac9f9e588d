"""A cluster with devices and claims, in which the engine decides with all default plugins."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from muster.framework.config import default_configuration
from muster.framework.contract import Status, WatchedKind
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.explain import Explanation, explain
from muster.operator.explain.frozen_engine import frozen_engine
from muster.operator.process.settings import Assembly, assemble
from tests.builders import NodeDict, PodDict, make_node

Object = dict[str, Any]
Picked = tuple[str, str, str]
"""Request, pool and device."""

_ASSEMBLY = assemble(default_configuration())


def decide(pod: PodDict, *objects: Object, nodes: Sequence[NodeDict] = ()) -> Explanation:
    """The decision for `pod` where these objects are, on nodes `one` and `two` if no others are given."""
    return reported(engine(*objects, nodes=nodes), pod)


def engine(*objects: Object, nodes: Sequence[NodeDict] = ()) -> Engine:
    """The engine that knows them."""
    known = [msgspec.convert(node, Node) for node in nodes or (make_node("one"), make_node("two"))]
    return frozen_engine(_ASSEMBLY, known, (), _by_kind(_ASSEMBLY, objects))


def reported(world: Engine, pod: PodDict) -> Explanation:
    """What it decides for a pod."""
    [algorithm] = world.algorithms.values()
    return explain(algorithm, PodInfo(msgspec.convert(pod, Pod)))


def allocated_to(pod: PodDict, *objects: Object, nodes: Sequence[NodeDict] = ()) -> dict[str, list[Picked]]:
    """What each claim would get on the best node; empty when the pod goes nowhere."""
    planned = decide(pod, *objects, nodes=nodes).planned.get("allocation", {"claims": {}})
    return {
        claim: [(each["request"], each["pool"], each["device"]) for each in results]
        for claim, results in planned["claims"].items()
    }


def refusals(pod: PodDict, *objects: Object, nodes: Sequence[NodeDict] = ()) -> dict[str, str]:
    """Why DynamicResources turns each node away."""
    found = decide(pod, *objects, nodes=nodes)
    return {name: _by_devices(status) for name, status in found.rejected.items()}


def refusal(pod: PodDict, *objects: Object, nodes: Sequence[NodeDict] = ()) -> str:
    """Why DynamicResources turns the pod away as a whole."""
    status = decide(pod, *objects, nodes=nodes).prefilter
    assert status is not None
    return _by_devices(status)


def _by_devices(status: Status) -> str:
    assert status.plugin == "DynamicResources"
    return status.message


def _by_kind(assembly: Assembly, objects: Iterable[Object]) -> dict[WatchedKind, list[object]]:
    return {
        kind: [msgspec.convert(each, kind.type) for each in objects if kind.describes(each["apiVersion"], each["kind"])]
        for kind in assembly.watched()
    }
