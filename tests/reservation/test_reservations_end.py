"""A reservation ends as soon as its holder does not lack capacity any more, and the pods it kept off are placed."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from muster.plugins.reservation.plugin import reserved_in
from muster.testing import configuration_of
from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_group, make_members
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, make_composite
from tests.gangscheduling.world import make_group as make_native_group
from tests.gangscheduling.world import make_members as make_native_members
from tests.stored_conditions import StoredConditions

RACK = "example.com/rack"
AFTER = 60


class Held(StoredConditions):
    """Nodes of 4 cores, of which others leave one free, that is reserved as soon as a pod has waited long."""

    def __init__(self, most: int = 4, **coscheduling: int) -> None:
        args = {"Reservation": {"afterSeconds": AFTER, "mostReservations": most}, "Coscheduling": coscheduling}
        super().__init__(configuration=configuration_of(["Coscheduling", "Reservation"], args=args))

        for name in ("a", "b"):
            self.add_nodes(make_node(name, cpu="4").labels({RACK: name}))
            self.add(make_pod(f"on-{name}").requests(cpu="3").node(name))

    def fill_b(self) -> None:
        """One of the nodes has nothing left."""
        self.add(make_pod("filler").requests(cpu="1").node("b"))

    async def reserved(self) -> None:
        """Until capacity is reserved, and a small pod is kept off it."""
        await self.run(AFTER + 5)
        self.add(make_pod("small").requests(cpu="1"))
        await self.run(1)
        assert self.reserved_nodes
        assert not self.node_of("default/small")

    @property
    def reserved_nodes(self) -> list[str]:
        """The nodes on which capacity is reserved."""
        names = self.engine.cache.snapshot.names
        return sorted({names[row] for capacity in reserved_in(self.engine.shared) for row in capacity.rows.tolist()})

    @property
    def holders(self) -> list[str]:
        """The pods and groups for which capacity is reserved."""
        return sorted({capacity.holder for capacity in reserved_in(self.engine.shared)})

    def change_group(self, kind: str, key: str, **spec: Any) -> None:
        self.api.change(kind, key, lambda group: group["spec"].update(spec))

    def relabel(self, node: str) -> None:
        """A node is in no rack any more."""
        self.api.change("nodes", node, lambda node: node["metadata"]["labels"].pop(RACK))

    def run_for(self, pod: str, seconds: int) -> None:
        """It turns out how long a pod runs at most."""
        self.api.change("pods", pod, lambda pod: pod["spec"].update(activeDeadlineSeconds=seconds))

    def try_again(self, *keys: str) -> None:
        """Something happens for which these pods are tried again."""
        found = (self.engine.known.get(key) for key in keys)
        self.engine.queue.activate([pod for pod in found if pod is not None])


@pytest.fixture
async def scheduler() -> AsyncIterator[Held]:
    found = Held()
    yield found
    await found.kill()


def add_gang(scheduler: Held) -> None:
    scheduler.api.put("podgroups", make_group("g", 2))
    scheduler.add(*make_members("g", 2, cpu="4"))


def add_native_gang(scheduler: Held) -> None:
    scheduler.api.put(KIND, make_native_group("g", 2))
    scheduler.add(*make_native_members("g", 2, cpu="4"))


def add_tree(scheduler: Held) -> None:
    scheduler.api.put(COMPOSITE_KIND, make_composite("job", 2))
    for part in ("g", "h"):
        scheduler.api.put(KIND, make_native_group(part, 1, parentCompositePodGroupName="job"))
        scheduler.add(*make_native_members(part, 1, cpu="4"))


def add_large_pod(scheduler: Held) -> None:
    scheduler.fill_b()
    scheduler.add(make_pod("large").requests(cpu="4").node_selector({RACK: "a"}))


def keep_large_pod_off(scheduler: Held) -> None:
    scheduler.relabel("a")
    scheduler.try_again("default/large")


def native_minimum(count: int) -> Callable[[Held], None]:
    policy = {"gang": {"minCount": count}}
    return lambda scheduler: scheduler.change_group(KIND, "default/g", schedulingPolicy=policy)


@pytest.mark.parametrize(
    ("comes", "happens"),
    [
        pytest.param(add_gang, lambda it: it.api.delete("podgroups", "default/g"), id="its PodGroup goes"),
        pytest.param(
            add_gang,
            lambda it: it.change_group("podgroups", "default/g", minMember=3),
            id="it needs more than there are",
        ),
        pytest.param(add_native_gang, lambda it: it.api.delete(KIND, "default/g"), id="its native PodGroup goes"),
        pytest.param(add_native_gang, native_minimum(3), id="a native one needs more than there are"),
        pytest.param(
            add_tree, lambda it: it.api.delete(COMPOSITE_KIND, "default/job"), id="its CompositePodGroup goes"
        ),
        pytest.param(add_tree, native_minimum(2), id="a part of it needs more than there are"),
        pytest.param(add_tree, lambda it: it.api.delete(KIND, "default/h"), id="a part of it goes"),
        pytest.param(add_large_pod, keep_large_pod_off, id="no node is left that it may use"),
        pytest.param(add_large_pod, lambda it: it.terminate("default/large"), id="its pod is being deleted"),
    ],
)
async def test_a_reservation_ends_when_its_holder_or_the_need_changes(
    scheduler: Held, comes: Callable[[Held], None], happens: Callable[[Held], None]
) -> None:
    comes(scheduler)
    await scheduler.reserved()
    happens(scheduler)
    await scheduler.run(2)
    assert scheduler.reserved_nodes == []
    assert scheduler.node_of("default/small")


@pytest.mark.parametrize("native", [False, True])
async def test_a_reservation_ends_when_members_that_run_are_lost_and_too_few_are_left(
    scheduler: Held, native: bool
) -> None:
    scheduler.fill_b()
    scheduler.add_nodes(make_node("c", cpu="4"))
    if native:
        scheduler.api.put(KIND, make_native_group("g", 2))
    else:
        scheduler.api.put("podgroups", make_group("g", 2))
    [first, second] = make_native_members("g", 2, cpu="4") if native else make_members("g", 2, cpu="4")
    scheduler.add(first.node("c"), second)
    await scheduler.reserved()
    scheduler.terminate("default/g-0")
    await scheduler.run(2)
    assert scheduler.reserved_nodes == []
    assert scheduler.node_of("default/small")


async def test_a_reservation_ends_when_the_domain_of_the_other_members_is_unknown(scheduler: Held) -> None:
    in_rack: dict[str, Any] = {"schedulingConstraints": {"topology": [{"key": RACK}]}}
    scheduler.fill_b()
    scheduler.add_nodes(make_node("a2", cpu="4").labels({RACK: "a"}))
    scheduler.api.put(KIND, make_native_group("g", 2, **in_rack))
    [first, second] = make_native_members("g", 2, cpu="4")
    scheduler.add(first.node("a2"), second)
    await scheduler.reserved()
    scheduler.relabel("a2")
    scheduler.try_again("default/g-1")
    await scheduler.run(2)
    assert scheduler.reserved_nodes == []
    assert scheduler.node_of("default/small")


async def test_a_pod_rejected_by_a_reservation_is_placed_when_a_more_important_one_replaces_it() -> None:
    scheduler = Held(most=1)
    add_large_pod(scheduler)
    await scheduler.run(20)
    urgent = make_pod("urgent").requests(cpu="4").node_selector({RACK: "b"})
    scheduler.add(urgent.priority(10, preemption_policy="Never"))
    await scheduler.run(AFTER - 15)
    scheduler.add(make_pod("small").requests(cpu="1"))
    await scheduler.run(1)
    assert (scheduler.reserved_nodes, scheduler.node_of("default/small")) == (["a"], "")
    await scheduler.run(20)
    assert (scheduler.reserved_nodes, scheduler.node_of("default/small")) == (["b"], "a")
    await scheduler.kill()


async def test_a_pod_rejected_by_a_reservation_is_placed_when_it_moves_to_another_node(scheduler: Held) -> None:
    scheduler.fill_b()
    scheduler.add(make_pod("large").requests(cpu="4"))
    await scheduler.reserved()
    assert scheduler.reserved_nodes == ["a"]
    scheduler.run_for("default/on-b", 600)
    scheduler.run_for("default/filler", 600)
    scheduler.try_again("default/large")
    await scheduler.run(2)
    assert (scheduler.reserved_nodes, scheduler.node_of("default/small")) == (["b"], "a")


async def test_a_reservation_is_computed_anew_when_its_moment_is_long_over_though_nothing_happens(
    scheduler: Held,
) -> None:
    scheduler.fill_b()
    for pod, seconds in (("on-a", 200), ("on-b", 900), ("filler", 900)):
        scheduler.run_for(f"default/{pod}", seconds)
    scheduler.add(make_pod("large").requests(cpu="4"))
    await scheduler.run(AFTER + 5)
    [capacity] = reserved_in(scheduler.engine.shared)
    await scheduler.run(capacity.start - 10 - scheduler.clock.now())
    scheduler.add(make_pod("small").requests(cpu="1"))
    await scheduler.run(39)
    assert (scheduler.reserved_nodes, scheduler.node_of("default/small")) == (["a"], "")
    await scheduler.run(2)
    assert (scheduler.reserved_nodes, scheduler.node_of("default/small")) == (["b"], "a")


async def test_a_gang_waits_also_while_it_is_not_retried_after_a_failure() -> None:
    scheduler = Held(podGroupBackoffSeconds=20)
    add_gang(scheduler)
    await scheduler.run(AFTER - 10)
    scheduler.try_again("default/g-0")
    await scheduler.run(1)
    assert scheduler.conditions["default/g-0"][1].endswith("podGroup default/g failed recently.")
    await scheduler.run(30)
    assert scheduler.reserved_nodes == ["a", "b"]
    await scheduler.kill()


async def test_a_reservation_is_computed_anew_when_its_holder_needs_more_than_is_held(scheduler: Held) -> None:
    scheduler.add_nodes(make_node("c", cpu="4"))
    scheduler.add(make_pod("on-c").requests(cpu="3").node("c"))
    for name in ("a", "b", "c"):
        scheduler.run_for(f"default/on-{name}", 900)
    scheduler.api.put("podgroups", make_group("g", 2))
    scheduler.add(*make_members("g", 3, cpu="4"))
    await scheduler.run(AFTER + 5)
    assert len(scheduler.reserved_nodes) == 2
    scheduler.change_group("podgroups", "default/g", minMember=3)
    await scheduler.run(5)
    assert scheduler.reserved_nodes == ["a", "b", "c"]


async def test_a_waiter_that_can_never_fit_does_not_block_the_reservation_of_the_next() -> None:
    scheduler = Held(most=1)
    scheduler.add(make_pod("larger-than-any-node").requests(cpu="100"))
    await scheduler.run(5)
    add_large_pod(scheduler)
    await scheduler.run(AFTER + 5)
    assert scheduler.reserved_nodes
    await scheduler.kill()
