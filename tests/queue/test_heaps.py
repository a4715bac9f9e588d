"""The heap: order, removal from the middle, and what is left of removed items."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from muster.framework.queue.sub_queues import LazyHeap


@dataclass(eq=False)
class Item:
    """Something with a ticket."""

    name: int
    ticket: int = 0


def drain(heap: LazyHeap[Item]) -> list[int]:
    names = []
    while (item := heap.pop()) is not None:
        names.append(item.name)
    return names


def test_pops_the_smallest_key_and_equal_keys_in_the_order_they_came() -> None:
    heap: LazyHeap[Item] = LazyHeap()
    for name, key in enumerate((3, 1, 2, 1)):
        heap.push((key,), Item(name))

    assert drain(heap) == [1, 3, 2, 0]


def test_an_empty_heap_pops_and_peeks_none() -> None:
    heap: LazyHeap[Item] = LazyHeap()

    assert heap.pop() is None
    assert heap.peek() is None
    assert heap.live == 0


def test_peek_passes_over_discarded_items_and_leaves_the_first_where_it_is() -> None:
    heap: LazyHeap[Item] = LazyHeap()
    first, second = Item(1), Item(2)
    heap.push((1,), first)
    heap.push((2,), second)
    heap.discard(first)

    assert heap.peek() is second
    assert heap.pop() is second


def test_an_item_that_moved_to_another_heap_is_not_found_in_its_old_slot() -> None:
    here: LazyHeap[Item] = LazyHeap()
    there: LazyHeap[Item] = LazyHeap()
    moved = Item(0)
    here.push((1,), moved)
    here.discard(moved)
    there.push((1,), moved)

    assert drain(here) == []
    assert drain(there) == [0]


def test_void_slots_never_outnumber_the_items_by_much() -> None:
    heap: LazyHeap[Item] = LazyHeap()
    item = Item(0)
    heap.push((0,), item)
    for key in range(10_000):
        heap.discard(item)
        heap.push((key,), item)

    assert heap.live == 1
    assert len(heap._slots) < 100


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans())))
def test_items_that_were_not_discarded_come_out_sorted(pushed: list[tuple[int, bool]]) -> None:
    heap: LazyHeap[Item] = LazyHeap()
    items = [Item(key) for key, _ in pushed]
    for item in items:
        heap.push((item.name,), item)
    for item, (_, discarded) in zip(items, pushed, strict=True):
        if discarded:
            heap.discard(item)

    kept = sorted(key for key, discarded in pushed if not discarded)
    assert heap.live == len(kept)
    assert drain(heap) == kept


def test_an_empty_heap_takes_keys_of_another_kind() -> None:
    heap: LazyHeap[Item] = LazyHeap()
    taken = Item(0)
    heap.push((1,), taken)
    heap.discard(taken)
    heap.push(("text",), Item(1))

    assert drain(heap) == [1]
