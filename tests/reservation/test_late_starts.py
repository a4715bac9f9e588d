"""Pods that declare a far end delay nobody more than pods that declare nothing, and what was promised is kept."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.plugins.reservation.group_plan import Group, plan_group
from muster.plugins.reservation.packing import EventualCapacity, Need, Nodes
from muster.plugins.reservation.plan import CapacityTimeline
from muster.plugins.reservation.plugin import reserved_in
from muster.plugins.reservation.rounds import SLACK_SECONDS, begins_at, horizon, starts_within
from muster.testing import VirtualScheduler, configuration_of
from tests.builders import PodDict, make_node, make_pod
from tests.reservation.crowd import Crowd

AFTER, POOL = 60, "example.com/pool"


@given(st.floats(1, 1000), st.floats(1, 5000))
def test_a_round_looks_ahead_to_a_start_within_the_bound_of_whom_only_the_next_round_helps(
    after: float, longest: float
) -> None:
    helps = 1
    while begins_at(helps - 1, 0.0, after) < longest:
        helps += 1
    assert horizon(0.0, helps - 1, after) <= starts_within(after, longest) - SLACK_SECONDS


@pytest.mark.parametrize(
    ("end", "long_lived", "expected"),
    [
        pytest.param(10.0, [1], (0, 10.0, False), id="soon"),
        pytest.param(90.0, [0], (1, inf, False), id="late, and others may end sooner"),
        pytest.param(90.0, [0, 1], (0, 90.0, True), id="late, and others stay"),
    ],
)
@pytest.mark.parametrize("domains", [None, [np.array([0]), np.array([1])], [np.array([1]), np.array([0])]])
def test_a_late_start_is_better_than_none_but_not_than_an_unknown_start_without_long_lived_pods(
    end: float, long_lived: list[int], expected: tuple[int, float, bool], domains: list[Nodes] | None
) -> None:
    soon, open_ended, stay = 50.0, np.full((2, 1), 8), np.zeros((2, 1), np.int64)
    stay[long_lived] = 8
    if end <= soon:
        open_ended[0] = 0
    later = EventualCapacity(open_ended, stay, np.zeros(2, np.bool_))
    timeline = CapacityTimeline(
        np.zeros((2, 1), np.int64), np.array([end]), np.array([0]), np.array([[8]]), later, soon
    )
    found = plan_group(timeline, Group("g", [Need(np.array([8]), 1, np.array([True, True]))], domains), 0.0)
    assert found is not None
    [[node]] = found.placed[0].nodes
    assert (node, found.start, found.cost.blocked > 0) == expected


@pytest.mark.parametrize("seed", range(4))
async def test_a_pod_that_outlives_its_end_is_long_lived_as_if_it_had_declared_none(seed: int) -> None:
    crowd = Crowd(seed)
    for name in ("a", "b"):
        crowd.add_nodes(make_node(name, cpu="4"))
        crowd.add(runs_for(f"stays-{name}", 2, 20).node(name), runs_for(f"stays-too-{name}", 1, 20).node(name))
    for name in ("c", "d"):
        crowd.add_node(name)
    await crowd.pass_time(60)
    crowd.add_gang(2)
    assert await crowd.waited() <= crowd.pace.within
    await crowd.kill()


def runs_for(name: str, cpu: int, seconds: int = 0, pool: str = "") -> PodDict:
    """A pod that declares when it ends, unless `seconds` is 0."""
    pod = make_pod(name).requests(cpu=str(cpu))
    if seconds:
        pod["spec"]["activeDeadlineSeconds"] = seconds
    return pod.node_selector({POOL: pool}) if pool else pod


class Pools(VirtualScheduler):
    """Two nodes, each the only one of its pool, that are full; one reservation at a time."""

    def __init__(self, **ends: int) -> None:
        args = {"Reservation": {"afterSeconds": AFTER, "mostReservations": 1}}
        super().__init__(configuration=configuration_of(["Coscheduling", "Reservation"], args=args))
        for pool, seconds in ends.items():
            self.add_nodes(make_node(pool, cpu="4").labels({POOL: pool}))
            self.add(runs_for(f"on-{pool}", 4, seconds).node(pool))

    @property
    def holders(self) -> list[str]:
        """Who has a reservation."""
        return sorted(capacity.holder.removeprefix("default/") for capacity in reserved_in(self.engine.shared))


async def test_a_pod_that_waits_for_a_far_end_gives_way_and_says_so_from_the_beginning() -> None:
    pools = Pools(a=9000, b=220)
    pools.add(runs_for("far", 4, pool="a"))
    await pools.run(AFTER + 5)
    [note] = pools.notes("default/far", "CapacityReserved")
    assert note.endswith("unless others can start sooner or the leader changes.")
    pools.add(runs_for("near", 4, pool="b"))
    await pools.run(AFTER + 5)
    assert pools.holders == ["near"]
    await pools.kill()


async def test_a_promised_start_is_kept_beside_whoever_can_start_sooner() -> None:
    pools = Pools(a=280, b=0)
    pools.add(runs_for("promised", 4, pool="a"))
    await pools.run(2 * AFTER + 5)
    note = pools.notes("default/promised", "CapacityReserved")[-1]
    assert note.endswith("at the latest, unless the leader changes.")
    pools.add(runs_for("near", 4, pool="b"))
    await pools.run(AFTER + 5)
    assert pools.holders == ["near", "promised"]
    await pools.kill()
