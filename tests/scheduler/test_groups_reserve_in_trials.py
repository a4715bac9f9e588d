"""A group's trial: each member is reserved behind those before it, and all of it is undone, last first."""

import copy
from typing import ClassVar

from muster.framework.contract import CycleState, GroupPlugin, NoDomain, PodInfo, ReservePlugin, Status
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.scripted import permitting
from tests.scheduler.stage import Stage


class Trios(GroupPlugin, ReservePlugin):
    """Pods with the label `trio` are placed three at a time, and no two of them with the same `seat`."""

    name = "Trios"
    log: ClassVar[list[str]] = []
    seats: ClassVar[dict[str, str]] = {}
    taken: ClassVar[set[str]] = set()

    def group_of(self, pod: PodInfo) -> str | None:
        return pod.labels.get("trio")

    def missing(self, group: str) -> int:
        return 3 - len([uid for uid, of in self.seats.items() if of == group])

    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        return Status.unschedulable(f"{placed} of {missing}: {cause.message}")

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        self.log.append(f"+{pod.name}")
        if pod.labels.get("seat") in self.taken:
            return Status.unschedulable("the seat is taken")
        self.seats[pod.uid] = pod.labels["trio"]
        self.taken.add(pod.labels.get("seat", pod.uid))
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self.log.append(f"-{pod.name}")
        if self.seats.pop(pod.uid, None) is not None:
            self.taken.discard(pod.labels.get("seat", pod.uid))


def trio(stage: Stage, seats: tuple[str, ...] = ("x", "y", "z")) -> None:
    """Three members come."""
    Trios.log.clear()
    Trios.seats.clear()
    Trios.taken.clear()
    stage.put_pod(*(make_pod(f"p{number}").labels(trio="t", seat=seat) for number, seat in enumerate(seats)))


async def test_members_are_reserved_in_the_trial_undone_last_first_and_reserved_for_real(set_stage: SetStage) -> None:
    stage = set_stage(Trios)
    trio(stage)
    await stage.settle()

    assert Trios.log == ["+p0", "+p1", "+p2", "-p2", "-p1", "-p0", "+p0", "+p1", "+p2"]
    assert len(stage.binds) == 3


async def test_the_reservation_of_a_member_is_visible_to_the_next(set_stage: SetStage) -> None:
    stage = set_stage(Trios)
    trio(stage, ("x", "x", "z"))
    before = copy.copy(Trios.seats)
    await stage.settle()

    assert Trios.log == ["+p0", "+p1", "-p1", "-p0"]  # without p1 the quorum is out of reach
    assert before == Trios.seats
    reported = "1 of 3: 0/1 nodes are available: 1 the seat is taken."
    assert stage.notes("default/p0") == stage.notes("default/p2") == [reported]


async def test_no_member_waits_at_permit_for_members_placed_in_the_same_step(set_stage: SetStage) -> None:
    stage = set_stage(Trios)
    trio(stage)
    assert stage.step()

    assert len(stage.engine.waiting_pods) == 0
    assert stage.engine.cache.assumed_count == 3


async def test_a_member_that_permit_refuses_costs_all_their_places_last_first(set_stage: SetStage) -> None:
    stage = set_stage(Trios, permitting("No", Status.unschedulable("no")))
    stage.put_node(make_node("two"))
    trio(stage)
    assert stage.step()
    await stage.breathe()

    assert Trios.log[9:] == ["-p0", "-p2", "-p1"]
    assert (stage.engine.cache.assumed_count, Trios.seats) == (0, {})
    because = "0/1 nodes are available: 1 sibling pod default/p0 lost its place on node one."
    assert stage.notes("default/p1") == [because]
