"""A gang of whose minResources too little is free: it gets a reservation, and starts when its capacity is free."""

from collections.abc import Mapping

from muster.plugins.reservation.plugin import reserved_in
from muster.testing import VirtualScheduler, configuration_of
from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_group, make_members

AFTER = 60


def scheduler_of(nodes: int, coscheduling: Mapping[str, object] = {}) -> VirtualScheduler:
    """Nodes of 4 cores; on the first and the second one each a pod runs for 300 seconds."""
    args = {"Reservation": {"afterSeconds": AFTER}, "Coscheduling": coscheduling}
    scheduler = VirtualScheduler(configuration=configuration_of(["Coscheduling", "Reservation"], args=args))
    scheduler.add_nodes(*(make_node(f"n{number}", cpu="4") for number in range(nodes)))
    for number in range(2):
        pod = make_pod(f"on-{number}").requests(cpu="3").node(f"n{number}")
        scheduler.add(pod.annotations({"muster-scheduler.io/run-seconds": "300"}))
    return scheduler


def reserved(scheduler: VirtualScheduler) -> dict[str, int]:
    """Thousandths of cores that are reserved, by node."""
    names, found = scheduler.engine.cache.snapshot.names, dict[str, int]()
    for capacity in reserved_in(scheduler.engine.shared):
        found |= {
            names[row]: n for row, n in zip(capacity.rows.tolist(), capacity.amounts["cpu"].tolist(), strict=True)
        }
    return found


async def test_the_group_reports_it_and_is_tried_when_its_capacity_comes_though_it_was_denied_for_long() -> None:
    scheduler = scheduler_of(2, {"deniedPGExpirationTimeSeconds": 40})
    scheduler.add(make_pod("last").requests(cpu="1").node("n0"))
    await scheduler.run(1)
    scheduler.api.put("podgroups", make_group("g", 2, min_resources={"cpu": "6"}))
    scheduler.add(*make_members("g", 2, cpu="3"))
    await scheduler.run(AFTER + 5)
    assert reserved(scheduler) == {"n0": 3000, "n1": 3000}
    [note] = scheduler.notes("default/g-0", "CapacityReserved")
    assert note.startswith("Capacity for 2 pods is reserved on 2 nodes: they start by ")
    assert scheduler.conditions["default/g-0"][1].endswith(f"resource gap: map[cpu:5]. {note}")

    scheduler.delete("default/on-0", "default/on-1")
    await scheduler.run(3)
    assert sorted(scheduler.node_of(f"default/g-{number}") for number in range(2)) == ["n0", "n1"]
    assert reserved(scheduler) == {}
    await scheduler.kill()


async def test_one_that_is_denied_when_it_has_waited_long_gets_its_reservation_when_that_is_over() -> None:
    scheduler = scheduler_of(2, {"deniedPGExpirationTimeSeconds": 40})
    scheduler.add(make_pod("last").requests(cpu="1").node("n0"))
    await scheduler.run(1)
    scheduler.api.put("podgroups", make_group("g", 2, min_resources={"cpu": "6"}))
    scheduler.add(*make_members("g", 2, cpu="3"))
    await scheduler.run(30)
    scheduler.delete("default/last")
    await scheduler.run(AFTER - 25)
    assert reserved(scheduler) == {}
    await scheduler.run(20)
    assert reserved(scheduler) == {"n0": 3000, "n1": 3000}
    await scheduler.kill()


async def test_min_resources_that_another_group_keeps_are_no_part_of_the_reservation() -> None:
    scheduler = scheduler_of(3)
    scheduler.api.put("podgroups", make_group("large", 1, min_resources={"cpu": "11500m"}))
    scheduler.add(*make_members("large", 1, cpu="2"))
    await scheduler.run(AFTER + 5)
    assert sum(reserved(scheduler).values()) == 11_500

    scheduler.add_nodes(make_node("n3", cpu="2"))
    scheduler.api.put("podgroups", make_group("app", 1, min_resources={"cpu": "3"}, timeout=900))
    scheduler.add(*make_members("app", 1, cpu="2"))
    await scheduler.run(5)
    assert (scheduler.node_of("default/app-0"), scheduler.node_of("default/large-0")) == ("n3", "")
    scheduler.delete("default/on-0", "default/on-1")
    await scheduler.run(5)
    assert scheduler.node_of("default/large-0")
    await scheduler.kill()


async def test_a_resource_that_no_node_offers_is_not_waited_for() -> None:
    scheduler = scheduler_of(2)
    scheduler.api.put("podgroups", make_group("g", 1, min_resources={"cpu": "8", "example.com/quantum": 1}))
    scheduler.add(*make_members("g", 1, cpu="4"))
    await scheduler.run(AFTER + 5)
    assert reserved(scheduler) == {}
    assert "example.com/quantum:1" in scheduler.conditions["default/g-0"][1]
    await scheduler.kill()
