"""Tenants: whose turn it is, which turns are asked for again, and that none waits beyond the bound."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from muster.framework.model.pod_info import PodInfo
from muster.framework.queue.tenants import PATIENCE_SECONDS, TenantHeap, Turn
from tests.builders import make_pod
from tests.cache.objects import pod


@dataclass(eq=False)
class Item:
    """An item of one tenant."""

    pod: PodInfo | None
    sort_key: tuple[Hashable, ...]
    ticket: int = 0
    tenant: str = ""


@dataclass
class Order:
    """Turns as a test sets them."""

    turns: dict[str, Turn] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)

    def tenants_moved(self) -> Sequence[str] | None:
        raise NotImplementedError

    def tenant_of(self, namespace: str) -> str:
        return namespace if namespace in self.turns else ""

    def turn_of(self, tenant: str, pod: PodInfo) -> Turn:
        self.asked[tenant] += 1
        return self.turns[tenant]


def item(namespace: str, name: str, place: int = 0) -> Item:
    return Item(pod(make_pod(name, namespace=namespace)), (place, name))


def heap_of(order: Order | None, *items: Item, divided: bool = True) -> TenantHeap[Item]:
    heap: TenantHeap[Item] = TenantHeap(order, lambda each: each.pod)
    for each in items:
        heap.push(each.sort_key, each)
    if divided:
        heap.moved(None)
    return heap


def drained(heap: TenantHeap[Item], now: float = 0.0) -> list[str]:
    found = []
    while (first := heap.pop(now)) is not None:
        heap.serve(first, now)
        found.append(str(first.sort_key[1]))
    return found


def test_without_tenants_it_is_a_plain_heap() -> None:
    heap = heap_of(None, item("ml", "b", 2), item("dev", "a", 1), item("ml", "c", 3), divided=False)
    assert len(heap) == 3
    assert drained(heap) == ["a", "b", "c"]
    assert len(heap) == 0
    assert heap.peek(0.0) is None


def test_without_tenants_the_order_asks_no_plugin() -> None:
    order = Order({"ml": (1.0,)})
    assert drained(heap_of(order, item("ml", "b", 2), item("dev", "a", 1), divided=False)) == ["a", "b"]
    assert not order.asked


def test_the_earlier_turn_is_first_and_among_equals_the_smaller_key() -> None:
    order = Order({"ml": (1.0, 0.5), "dev": (1.0, 0.25), "ops": ()})
    items = [item("ml", "ml", 0), item("dev", "dev", 9), item("ops", "ops", 5), item("none", "none", 4)]
    assert drained(heap_of(order, *items)) == ["none", "ops", "dev", "ml"]


def test_within_a_tenant_keys_decide() -> None:
    order = Order({"ml": (), "dev": (1.0,)})
    items = [item("ml", "b", 2), item("dev", "x", 0), item("ml", "a", 1)]
    assert drained(heap_of(order, *items)) == ["a", "b", "x"]


def test_a_turn_that_changes_counts_once_it_was_named() -> None:
    order = Order({"ml": (0.1,), "dev": (0.2,)})
    heap = heap_of(order, item("ml", "ml"), item("dev", "dev"))
    assert heap.peek(0.0) is not None
    order.turns["ml"] = (0.3,)
    found = heap.peek(0.0)
    assert found is not None
    assert found.sort_key[1] == "ml"
    heap.moved(["ml", "unknown"])
    assert drained(heap) == ["dev", "ml"]


def test_only_turns_that_may_have_changed_are_asked_for_again() -> None:
    order = Order({name: (1.0,) for name in "abc"})
    heap = heap_of(order, *(item(name, f"{name}{n}", n) for name in "abc" for n in range(3)))
    heap.peek(0.0)
    assert order.asked == {"a": 1, "b": 1, "c": 1}
    heap.moved(["b"])
    heap.peek(0.0)
    assert order.asked == {"a": 1, "b": 2, "c": 1}
    heap.pop(0.0)
    heap.peek(0.0)
    assert order.asked == {"a": 1, "b": 2, "c": 1}, "the next pod has the same signature"
    heap.push((0, "a"), Item(pod(make_pod("larger", namespace="a").requests(cpu="1")), (0, "a")))
    heap.peek(0.0)
    assert order.asked == {"a": 2, "b": 2, "c": 1}


def test_items_get_their_tenants_when_these_change() -> None:
    order = Order({"ml": (1.0,)})
    first, second = item("ml", "ml", 0), item("dev", "dev", 1)
    heap = heap_of(order, first, second)
    assert [each.tenant for each in (first, second)] == ["ml", ""]
    order.turns = {"dev": (1.0,)}
    heap.moved(None)
    assert [each.tenant for each in (first, second)] == ["", "dev"]
    assert drained(heap) == ["ml", "dev"]


def test_an_item_that_stands_for_no_pod_is_no_tenants() -> None:
    order = Order({"ml": (1.0,)})
    heap = heap_of(order, item("ml", "ml", 0), Item(None, (5, "empty")))
    assert drained(heap) == ["empty", "ml"]


def test_places_in_two_heaps_are_compared_by_turn_and_key() -> None:
    order = Order({"ml": (1.0, 0.5), "dev": (1.0, 0.25)})
    one, other = item("ml", "ml", 0), item("dev", "dev", 1)
    here, there = heap_of(order, one), heap_of(order, other)
    here.peek(0.0)
    there.peek(0.0)
    assert there.order_of(other) < here.order_of(one)


def test_a_tenant_that_was_not_served_in_time_is_next() -> None:
    order = Order({"first": (), "last": (9.0,)})
    heap = heap_of(order, item("last", "last", 0), *(item("first", f"f{n}", n) for n in range(9)))
    heap.peek(0.0)
    assert heap.peek(PATIENCE_SECONDS - 0.1) is not None
    served = heap.pop(PATIENCE_SECONDS - 0.1)
    assert served is not None
    heap.serve(served, PATIENCE_SECONDS - 0.1)
    assert served.sort_key[1] == "f0"
    late = heap.peek(PATIENCE_SECONDS)
    assert late is not None
    assert late.sort_key[1] == "last"


def test_a_heap_reports_that_the_next_tenant_was_chosen_for_its_wait() -> None:
    heap = heap_of(Order({"first": (), "last": (9.0,)}), item("last", "last"), item("first", "first"))
    assert not heap.is_overdue(0.0)
    assert not heap.is_overdue(PATIENCE_SECONDS - 0.1)
    assert heap.is_overdue(PATIENCE_SECONDS)
    heap.pop(PATIENCE_SECONDS)
    assert not heap.is_overdue(PATIENCE_SECONDS)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 5)), min_size=1, max_size=80))
def test_none_waits_longer_than_the_bound_and_a_decision_for_each_other(history: list[tuple[str, int]]) -> None:
    """Each step is a decision: the tenant whose turn it is gets one more item, and takes so many seconds."""
    order = Order({name: (float(at),) for at, name in enumerate("abcd")})
    heap = heap_of(order, *(item(name, f"{name}0") for name in "abcd"))
    heap.peek(0.0)
    now, longest, since = 0.0, max(seconds for _, seconds in history), dict.fromkeys("abcd", 0.0)
    for at, (named, seconds) in enumerate(history):
        heap.moved([named])
        served = heap.pop(now)
        assert served is not None
        heap.serve(served, now)
        since[served.tenant] = now
        heap.push((at, "again"), again := item(served.tenant, "again", at))
        assert again.tenant == served.tenant
        now += seconds
        for name, before in since.items():
            assert now - before <= PATIENCE_SECONDS + 4 * longest + longest, name
