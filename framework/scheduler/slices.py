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
            the fewest come first: the smaller slice at the end lacks no member that is replaced.
    """
    left, found = capacity.copy(), list[int]()
    without_capacity = []
    lacking = -placed % size
    for part in sorted(np.flatnonzero(lacking).tolist(), key=lambda each: int(lacking[each])):
        count = min(int(lacking[part]), members - len(found))
        if left[part] < count:
            without_capacity.append(part)
            continue
        found += [part] * count
        left[part] -= count
    if without_capacity:
        part = max(without_capacity, key=lambda each: int(left[each]))
        return found + [part] * min(int(left[part]), members - len(found))
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
