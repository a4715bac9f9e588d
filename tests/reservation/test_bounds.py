"""Pods and groups that can be helped start within the documented bound, by random examples of what hinders them."""

from collections.abc import Callable, Sequence
from math import inf

import pytest
from hypothesis import settings

from muster.plugins.reservation.rounds import starts_within
from tests.builders import PodDict, make_pod
from tests.reservation.crowd import MANY_LEADERS, ONE_LEADER, POOL, RACK, Crowd, Pace

EXAMPLES = 200 if settings.get_current_profile_name() == "nightly" else 15


def among_long_lived_pods(seed: int, pace: Pace, says: Sequence[int]) -> Crowd:
    """As many nodes as the gang needs have none of them; on the others they may take little or much."""
    crowd = Crowd(seed, pace, says)
    size, others = crowd.draw.randint(1, 6), crowd.draw.randint(1, 2)
    nodes = [0] * size + [crowd.draw.randint(1, 2) for _ in range(others)]
    crowd.draw.shuffle(nodes)
    for number, services in enumerate(nodes):
        crowd.add_node(f"n{number}", services=services)
    crowd.add_gang(size)
    return crowd


def beside_a_busy_rack(seed: int, pace: Pace, says: Sequence[int]) -> Crowd:
    """In each rack but one some node has a service, and the gang needs all of a rack."""
    crowd = Crowd(seed, pace, says)
    racks = crowd.draw.randint(2, 3)
    free = crowd.draw.randrange(racks)
    for rack in range(racks):
        busy = crowd.draw.randrange(2)
        for number in range(2):
            services = 0 if rack == free else crowd.draw.randint(number == busy, 2)
            crowd.add_node(f"r{rack}n{number}", services=services, rack=f"r{rack}")
    crowd.add_gang(2, **{"muster-scheduler.io/required-topology": RACK})
    return crowd


class InPools(Crowd):
    """A crowd whose gang has to be in one of two pools."""

    def member(self, pod: PodDict) -> PodDict:
        return pod.node_selector({POOL: "b"})


def behind_stuck_pods(seed: int, pace: Pace, says: Sequence[int]) -> Crowd:
    """Pods that no node of their pool can take have waited for longer, more of them than there are reservations."""
    crowd = InPools(seed, pace, says)
    for number in range(4):
        crowd.add_node(f"a{number}", services=1, pool="a")
    for number in range(3):
        crowd.add_node(f"b{number}", pool="b")
    for number in range(crowd.draw.randint(4, 6)):
        pod = make_pod(f"stuck-{number}").requests(cpu="4")
        crowd.add(pod.node_selector({POOL: "a"}))
    crowd.add_gang(3)
    return crowd


FAR_ENDS = (2, 4, 10, 50, 20_000)
SITUATIONS = (among_long_lived_pods, beside_a_busy_rack, behind_stuck_pods)


@pytest.mark.slow
@pytest.mark.parametrize("pace", [ONE_LEADER, MANY_LEADERS], ids=["one leader", "another leader every five minutes"])
@pytest.mark.parametrize("says", [(), FAR_ENDS], ids=["no known ends", "far ends"])
@pytest.mark.parametrize("situation", SITUATIONS)
async def test_a_gang_that_can_be_helped_starts_within_its_bound(
    situation: Callable[[int, Pace, Sequence[int]], Crowd], says: Sequence[int], pace: Pace
) -> None:
    late = {}
    for seed in range(EXAMPLES):
        crowd = situation(seed, pace, says)
        waited = await crowd.waited()
        if waited > pace.within:
            late[seed] = waited
        await crowd.kill()
    assert late == {}


def test_there_is_no_bound_where_pods_outlive_leaders() -> None:
    assert starts_within(300, 120, leader_every=300) == starts_within(300, 120) + 120
    assert starts_within(300, 240, leader_every=300) == inf
