"""A pod that lacks more than capacity holds no reservation, though its lack of capacity hides the rest."""

from collections.abc import AsyncIterator, Callable, Sequence
from itertools import count

import pytest

from muster.testing import VirtualScheduler
from tests.builders import PodDict, make_node, make_pod
from tests.coscheduling.objects import make_group, make_member, make_members
from tests.dynamicresources.objects import device, exactly, make_claim, make_class, make_slice
from tests.reservation.test_reservations_end import AFTER, RACK, Held
from tests.storage import make_claim as make_volume_claim
from tests.storage import make_class as make_storage_class
from tests.storage import make_volume


def full_cluster(most: int) -> Held:
    """Nodes that are full; so many reservations are made at a time."""
    found = Held(most)
    found.api.put("deviceclasses", make_class("gpu"))
    found.add_nodes(make_node("c", cpu="16").labels({RACK: "c"}))
    found.add(make_pod("on-c").labels({"app": "c"}).requests(cpu="16").node("c"))
    found.run_for("default/on-c", 900)
    return found


@pytest.fixture
async def scheduler() -> AsyncIterator[Held]:
    """One reservation is made at a time."""
    found = full_cluster(most=1)
    yield found
    await found.kill()


def claiming(pod: PodDict, claim: str = "gpu") -> PodDict:
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": claim}]
    return pod


def lacks_a_device(scheduler: VirtualScheduler, pod: PodDict) -> None:
    scheduler.api.put("resourceclaims", make_claim("gpu", exactly()))
    scheduler.add(claiming(pod))


def lacks_a_device_and_keeps_apart(scheduler: VirtualScheduler, pod: PodDict) -> None:
    """What has to end for it on its one node is not what it lacks most."""
    term = {"labelSelector": {"matchLabels": {"app": "c"}}, "topologyKey": RACK}
    pod["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    lacks_a_device(scheduler, pod)


def lacks_company(scheduler: VirtualScheduler, pod: PodDict) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "friend"}}, "topologyKey": RACK}
    pod["spec"]["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    scheduler.add(pod)


def lacks_a_volume(scheduler: VirtualScheduler, pod: PodDict) -> None:
    scheduler.api.put("storageclasses", make_storage_class("local", provisioner="kubernetes.io/no-provisioner"))
    scheduler.api.put("persistentvolumeclaims", make_volume_claim("data", storage_class="local"))
    scheduler.add(pod.claim("data"))


def volume_comes(scheduler: VirtualScheduler) -> None:
    term = {"matchExpressions": [{"key": RACK, "operator": "In", "values": ["c"]}]}
    affinity = {"required": {"nodeSelectorTerms": [term]}}
    scheduler.api.put("persistentvolumes", make_volume("on-c", storage_class="local", nodeAffinity=affinity))


def device_comes(scheduler: VirtualScheduler) -> None:
    scheduler.api.put("resourceslices", make_slice("gpus", device("gpu-0"), node="c"))


def company_comes(scheduler: VirtualScheduler) -> None:
    scheduler.add(make_pod("friend").labels({"app": "friend"}).requests(cpu="0").node("c"))


@pytest.mark.parametrize(
    ("comes", "helps"),
    [
        (lacks_a_device, device_comes),
        (lacks_a_device_and_keeps_apart, device_comes),
        (lacks_company, company_comes),
        (lacks_a_volume, volume_comes),
    ],
)
async def test_a_holder_that_lacks_something_else_leaves_its_place_to_the_next_until_it_can_be_helped(
    scheduler: Held, comes: Callable[[Held, PodDict], None], helps: Callable[[Held], None]
) -> None:
    """It has waited for four times as long as it takes to get a reservation then, so its next round is far away."""
    comes(scheduler, make_pod("stuck").requests(cpu="8"))
    await scheduler.run(5)
    scheduler.add(make_pod("next").requests(cpu="4").node_selector({RACK: "a"}))
    await scheduler.run(AFTER + 5)
    assert scheduler.reserved_nodes == ["a"]

    scheduler.delete("default/next")
    await scheduler.run(3 * AFTER)
    helps(scheduler)
    await scheduler.run(AFTER + 5)
    assert scheduler.reserved_nodes == ["c"]


async def test_a_pod_with_anti_affinity_to_ending_pods_gets_a_reservation_on_their_node(scheduler: Held) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "c"}}, "topologyKey": RACK}
    pod = make_pod("large").requests(cpu="8")
    pod["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    scheduler.add(pod)
    await scheduler.run(AFTER + 5)
    assert scheduler.reserved_nodes == ["c"]


async def reserved_for_the_next(*members: PodDict) -> Held:
    """A gang with one device for two members had a reservation, which did not help it, and now the next pod has one."""
    scheduler = full_cluster(most=2)
    scheduler.api.put("resourceslices", make_slice("gpus", device("gpu-0"), node="c"))
    scheduler.api.put("podgroups", make_group("g", 2))
    scheduler.add_nodes(make_node("too-small", cpu="1").labels({RACK: "c"}))
    for number, member in enumerate(members):
        scheduler.api.put("resourceclaims", make_claim(f"gpu-{number}", exactly()))
        scheduler.add(claiming(member.node_selector({RACK: "c"}), f"gpu-{number}"))
    await scheduler.run(AFTER / 2)
    scheduler.add(make_pod("next").requests(cpu="6").node_selector({RACK: "c"}))
    await scheduler.run(AFTER)
    assert scheduler.holders == ["Coscheduling/default/g"]

    scheduler.add(make_pod("ending").requests(cpu="3").node("c"), make_pod("service").requests(cpu="9").node("c"))
    scheduler.delete("default/on-c")
    await scheduler.run(AFTER / 2)
    assert scheduler.holders == ["default/next"]
    return scheduler


@pytest.mark.parametrize(
    "sizes", [("2", "2"), ("3", "1")], ids=["equal members", "members of which one fits elsewhere"]
)
async def test_a_gang_that_lacks_devices_takes_no_reservation_that_does_not_help_it_again_and_again(
    sizes: Sequence[str],
) -> None:
    """Each member alone fits, so by its plan it could start at once; another reservation hides that it cannot."""
    scheduler = await reserved_for_the_next(
        *(make_member(f"g-{number}", "g", cpu=cpu) for number, cpu in enumerate(sizes))
    )
    decisions = count()
    scheduler.slices = lambda: 0 if next(decisions) < 100 else pytest.fail("they are tried again and again")
    scheduler.delete("default/ending")
    scheduler.try_again("default/g-0", "default/g-1")
    await scheduler.run(1)
    assert scheduler.node_of("default/next") == "c"
    await scheduler.kill()


async def test_a_gang_that_a_reservation_did_not_help_takes_none_from_the_next_when_it_is_planned_again() -> None:
    """What comes free for the next pod stays reserved for it, though others would take it at once."""
    scheduler = await reserved_for_the_next(*make_members("g", 2, cpu="2"))
    scheduler.api.put("podgroups", make_group("quick", 1))
    scheduler.add(*(member.node_selector({RACK: "c"}) for member in make_members("quick", 2, cpu="2")))
    await scheduler.run(1.5 * AFTER)
    assert "default/next" in scheduler.holders

    scheduler.delete("default/ending")
    await scheduler.run(20)
    assert scheduler.node_of("default/next") == "c"
    await scheduler.kill()
