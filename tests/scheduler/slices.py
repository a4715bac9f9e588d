"""Worlds in which a step of the engine is a slice, however little is done in it."""

from collections import Counter
from typing import Any

from muster.framework.contract import (
    ALLOW,
    CycleState,
    NodeView,
    PermitPlugin,
    PodInfo,
    PreFilterPlugin,
    ReservePlugin,
    Status,
    Wait,
)
from tests.clocks import Ticks
from tests.coscheduling.objects import make_member
from tests.coscheduling.world import World


class Timed(PreFilterPlugin, ReservePlugin, PermitPlugin):
    """Each call takes as long as a slice."""

    name = "Timed"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.calls: Counter[str] = Counter()

    def note(self, point: str) -> None:
        self.calls[point] += 1

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        self.note("pre_filter")
        return None

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        self.note("reserve")
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self.note("unreserve")

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
        self.note("permit")
        return ALLOW


def sliced(*plugins: type[Timed]) -> World:
    return World(plugins={plugin.name: plugin for plugin in plugins}, stopwatch=Ticks())


def gang(world: World, size: int, *, cpu: str = "1", name: str = "gang") -> list[str]:
    world.add_group(name, size)
    return world.add(*(make_member(f"{name}-{number}", name, cpu=cpu) for number in range(size)))
