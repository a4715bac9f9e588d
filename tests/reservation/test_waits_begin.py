"""The wait that leads to a reservation begins when a pod or gang waits for nodes, under any number of leaders."""

from collections.abc import AsyncIterator

import pytest

from muster.plugins.capacityscheduling.api import ELASTIC_QUOTAS
from muster.plugins.reservation.plugin import reserved_in
from muster.testing import configuration_of
from tests.builders import make_node, make_pod
from tests.capacityscheduling.objects import make_quota
from tests.coscheduling.objects import make_group, make_members
from tests.reservation.leaders import WITHOUT_LEADER, Leaders

AFTER = 60
PLUGINS = ["Coscheduling", "CapacityScheduling", "Reservation"]


class FullCluster(Leaders):
    """Three nodes of 4 cores, on each of which a pod runs for long."""

    def __init__(self) -> None:
        super().__init__(configuration=configuration_of(PLUGINS, args={"Reservation": {"afterSeconds": AFTER}}))
        for name in "abc":
            self.add_nodes(make_node(name, cpu="4"))
            pod = make_pod(f"on-{name}", namespace="other").requests(cpu="3").node(name)
            pod["spec"]["activeDeadlineSeconds"] = 900
            self.add(pod)

    def holders(self) -> list[str]:
        """The holders of reservations."""
        return [capacity.holder for capacity in reserved_in(self.engine.shared)]

    def reasons(self) -> set[str]:
        """The reasons of all conditions in the API."""
        pods = [pod for key, pod in self.api.pods.items() if key.startswith("default/")]
        return {each["reason"] for pod in pods for each in pod["status"]["conditions"]}

    async def pass_time_with_leaders(self, seconds: float, *, change: bool) -> None:
        """So much time passes, and the leader changes in it if `change`."""
        if change:
            self.change_leader_every(float("inf"), self.clock.now() + seconds - WITHOUT_LEADER - 5)
        await self.pass_time(seconds)


@pytest.fixture
async def cluster() -> AsyncIterator[FullCluster]:
    found = FullCluster()
    yield found
    await found.kill()


@pytest.mark.parametrize("change", [False, True], ids=["one leader", "two leaders"])
async def test_a_gang_waits_for_nodes_since_it_lacks_no_members(cluster: FullCluster, change: bool) -> None:
    cluster.api.put("podgroups", make_group("gang", 3))
    *early, late = make_members("gang", 3, cpu="4")
    cluster.add(*early)
    await cluster.pass_time(AFTER + 10)
    assert cluster.reasons() == {"WaitingForPods"}
    cluster.add(late)
    await cluster.pass_time_with_leaders(AFTER - 2, change=change)
    assert cluster.reasons() == {"Unschedulable"}
    assert cluster.holders() == []
    await cluster.pass_time(4)
    assert cluster.holders() == ["Coscheduling/default/gang"]


@pytest.mark.parametrize("change", [False, True], ids=["one leader", "two leaders"])
async def test_a_pod_waits_for_nodes_since_quota_lets_it_in(cluster: FullCluster, change: bool) -> None:
    cluster.api.put(ELASTIC_QUOTAS.resource, make_quota("default", max={"cpu": "2"}))
    cluster.add(make_pod("large").requests(cpu="4"))
    await cluster.pass_time(AFTER + 10)
    assert cluster.reasons() == {"QuotaExceeded"}
    cluster.api.put(ELASTIC_QUOTAS.resource, make_quota("default", max={"cpu": "4"}))
    await cluster.pass_time_with_leaders(AFTER - 2, change=change)
    assert cluster.reasons() == {"Unschedulable"}
    assert cluster.holders() == []
    await cluster.pass_time(4)
    assert cluster.holders() == ["default/large"]


async def test_a_gang_that_lacks_a_member_for_a_moment_waits_on(cluster: FullCluster) -> None:
    cluster.api.put("podgroups", make_group("gang", 3))
    cluster.add(*make_members("gang", 3, cpu="4"))
    await cluster.pass_time(AFTER - 10)
    cluster.api.put("podgroups", make_group("gang", 4))
    await cluster.pass_time(0.5)
    cluster.api.put("podgroups", make_group("gang", 3))
    await cluster.pass_time(12)
    assert cluster.holders() == ["Coscheduling/default/gang"]


async def test_a_gang_that_lacked_a_member_for_a_while_waits_anew(cluster: FullCluster) -> None:
    cluster.api.put("podgroups", make_group("gang", 3))
    *members, successor = make_members("gang", 4, cpu="4")
    [*_, last] = cluster.add(*members)
    await cluster.pass_time(AFTER - 10)
    cluster.delete(last)
    await cluster.pass_time(35)
    assert cluster.reasons() == {"WaitingForPods"}
    cluster.add(successor)
    await cluster.pass_time(AFTER - 2)
    assert cluster.holders() == []
    await cluster.pass_time(4)
    assert cluster.holders() == ["Coscheduling/default/gang"]
