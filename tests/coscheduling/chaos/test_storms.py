"""Random lives of gangs: never started in part, never left waiting where they fit, never counted wrong.

The simulation judges whole processes when they are at rest, decides each gang in one step, and places it in a
transaction. These storms judge each moment: a gang may be bound in part for one round of Bindings and no longer, also
where members are placed pod by pod, and where other objects change between two members of a decision.

Watched from outside, by pods alone. A gang that lost a bound member from outside, or one that was being bound, is
excused until it is whole again, and so is one of which more is asked while it runs or is about to.
"""

import asyncio

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.clocks import Ticks
from tests.coscheduling.chaos.storm import Storm, Weather


def outlive(weather: Weather) -> Storm:
    """Let a storm blow, and see that what the scheduler believes at its end is true."""

    async def blow() -> Storm:
        storm = Storm(weather)
        try:
            await storm.blow()
            storm.world.check()
        finally:
            await storm.world.kill()
        return storm

    return asyncio.run(blow())


def test_two_hundred_gangs_on_a_cluster_with_capacity_for_sixty_per_cent_of_them() -> None:
    storm = outlive(Weather(seed=42, gangs=200, largest=40, share=0.6, deletions=150, node_losses=15))

    assert storm.faults == []
    records = [storm.world.groups.record(group) for group in storm.world.groups]
    assert len([record for record in records if len(record.pods) > len(record.placed)]) > 20
    assert len([record for record in records if record.placed]) > 20


@pytest.mark.parametrize("seed", range(3))
def test_forty_gangs_that_are_placed_pod_by_pod(seed: int) -> None:
    storm = outlive(Weather(seed=seed, gangs=40, largest=20, deletions=40, node_losses=6, placement="PodByPod"))

    assert storm.faults == []


@pytest.mark.parametrize("seed", range(5))
def test_gangs_that_are_decided_one_member_at_a_time(seed: int) -> None:
    storm = outlive(Weather(seed=seed, gangs=12, largest=15, changes=4, stopwatch=Ticks()))

    assert storm.faults == []


@settings(max_examples=40)
@given(
    st.builds(
        Weather,
        seed=st.integers(0, 2**32),
        gangs=st.integers(1, 12),
        largest=st.integers(2, 8),
        share=st.floats(0.2, 1.2),
        seconds=st.floats(1, 60),
        deletions=st.integers(0, 20),
        node_losses=st.integers(0, 4),
        ends=st.floats(0, 1),
        changes=st.integers(0, 15),
        placement=st.sampled_from(["Transaction", "PodByPod"]),
    )
)
@example(Weather(seed=1, gangs=11, largest=2, share=0.5, seconds=1, deletions=15, node_losses=0, ends=0.75, changes=2))
@example(
    Weather(seed=11, gangs=11, largest=3, share=0.25, seconds=12.5, deletions=11, node_losses=4, ends=0, changes=11)
)
def test_any_weather(weather: Weather) -> None:
    assert outlive(weather).faults == []
