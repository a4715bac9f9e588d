"""Slices: how members of a group are divided into slices of a fixed size, each within one part of the group's domain.

Pure. The search for a domain asks in which part each member is tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def assign(members: int, size: int, capacity: npt.NDArray[np.int64], placed: npt.NDArray[np.int64]) -> list[int]:
    """The part of each member, by its position in rank order; shorter where no part has capacity for one more slice.

    Args:
        members: how many are to be placed.
        size: of a slice; what is left over in the end makes a smaller one.
        capacity: int64, shape (parts,): how many members each part could take.
        placed: int64, shape (parts,): how many members of the group run there. Open slices are filled first; while
            parts lack capacity for that, one of these takes what it can, and no new slice is begun. Slices that lack
            the fewest come first, see `may_join`.
    """
    left, found = capacity.copy(), list[int]()
    lacking = -placed % size
    order = sorted(np.flatnonzero(lacking).tolist(), key=lambda each: int(lacking[each]))
    without_capacity: dict[int, int] = {}
    for part in order:
        count = min(int(lacking[part]), members - len(found))
        if part == order[-1]:
            skipped = [int(lacking[each]) for each in without_capacity]
            count = _of_emptiest(int(lacking[part]), members - len(found), skipped)
        if left[part] < count:
            without_capacity[part] = count
            continue
        found += [part] * count
        left[part] -= count
    if without_capacity:
        part = max(without_capacity, key=lambda each: int(left[each]))
        return found + [part] * min(int(left[part]), without_capacity[part], members - len(found))
    while (wanted := members - len(found)) > 0:
        slots = left // size
        slices, rest = divmod(wanted, size)
        if not slices:
            enough = np.flatnonzero(left >= rest)
            return found + [int(enough[left[enough].argmin()])] * rest if len(enough) else found
        if not slots.any():
            return found
        takes_all = np.flatnonzero(slots >= slices)
        part = int(takes_all[left[takes_all].argmin()]) if len(takes_all) else int(slots.argmax())
        count = min(int(slots[part]), slices) * size
        found += [part] * count
        left[part] -= count
    return found


def may_join(lacking: npt.NDArray[np.int64], waiting: int) -> npt.NDArray[np.bool_]:
    """Whether a member may join the open slice of each part, so that in the end at most one slice is incomplete.

    The one that lacks the most is the smaller slice at the end: it takes members that the others cannot need.

    Args:
        lacking: int64, shape (parts,): how many members the open slice lacks; 0 where none is open.
        waiting: how many members are to be placed, with this one.
    """
    found: npt.NDArray[np.bool_] = lacking > 0
    most = int(lacking.max(initial=0))
    emptiest = np.flatnonzero(lacking == most)
    if len(emptiest) == 1 and waiting <= int(lacking.sum()) - most:
        found[emptiest] = False
    return found


def _of_emptiest(lacking: int, waiting: int, skipped: Sequence[int]) -> int:
    """How many members the slice that lacks the most takes, beside what others lack that have no capacity now."""
    needed, more = sum(skipped), lacking - max(skipped, default=0)
    return min(lacking, waiting) if not more or waiting - needed >= more else max(0, waiting - needed)


def distribute(assigned: Sequence[int], own: Sequence[int]) -> list[int | None]:
    """The part of each member, by its position in rank order, None for members beyond those that were `assigned` one.

    `own` is the part of the node that each member is nominated to, negative for none. A nominated member gets its own
    part if it is assigned to anyone, since the others have to leave the capacity to it. The others share the rest in
    rank order.
    """
    left, found = Counter(assigned), list[int | None]()
    for part in own:
        gets_own = left[part] > 0
        left[part] -= gets_own
        found.append(part if gets_own else None)
    rest = []
    for part in assigned:
        if left[part] > 0:
            left[part] -= 1
            rest.append(part)
    without = [index for index, part in enumerate(found) if part is None]
    for index, part in zip(without, rest, strict=False):
        found[index] = part
    return found
