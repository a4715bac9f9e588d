"""The material of interleavings: nodes and pods of few names, and a scheduler that has just been started."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import strategies as st

from muster.framework.contract import Status
from muster.framework.model.pod_info import PodInfo
from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.coscheduling.objects import GROUP_LABEL
from tests.scheduler.doorman import HOLD

NODES = ("a", "b", "c")
PODS = tuple(f"p{number}" for number in range(7))
GROUP = "gang"


@st.composite
def node_objects(draw: st.DrawFn) -> NodeDict:
    node = make_node(draw(st.sampled_from(NODES)), cpu=draw(st.sampled_from("1124")), pods=draw(st.sampled_from("259")))
    node.zone(draw(st.sampled_from("xxy")))
    if draw(st.integers(0, 4)) == 0:
        node.taint("dedicated")
    if draw(st.integers(0, 6)) == 0:
        node.unschedulable()
    return node


TRAITS: dict[str, Callable[[PodDict], PodDict]] = {
    "urgent": lambda pod: pod.priority(10),
    "with a port": lambda pod: pod.host_port(80),
    "for one zone": lambda pod: pod.node_selector({"topology.kubernetes.io/zone": "x"}),
    "tolerant": lambda pod: pod.tolerate("dedicated"),
    "held": lambda pod: pod.labels({HOLD: "yes"}),
    "gated": lambda pod: pod.gate("example.com/gate"),
    "of a gang": lambda pod: pod.labels({GROUP_LABEL: GROUP}),
}


@st.composite
def pod_objects(draw: st.DrawFn) -> PodDict:
    cpu = draw(st.sampled_from(("0", "500m", "700m", "700m", "1", "3")))
    pod = make_pod(draw(st.sampled_from(PODS))).requests(cpu=cpu)
    for trait in draw(st.lists(st.sampled_from((*TRAITS, "held", "of a gang")), max_size=2, unique=True)):
        TRAITS[trait](pod)
    return pod


class Unheeded:
    """The outside of a scheduler, to which what it says is nothing."""

    def event(self, regarding: PodInfo, *, type: str, reason: str, action: str, note: str) -> None:
        pass

    def nominated(self, pod: PodInfo, node_name: str) -> None:
        pass

    def forget(self, uid: str) -> None:
        pass

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        pass


class Newcomer(Unheeded):
    """The outside of a scheduler that is only asked what it would bind."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.binds: list[tuple[str, str]] = []
        self._loop = loop

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._loop.create_task(work)

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        self.binds.append((pod.key, node_name))
        return None
