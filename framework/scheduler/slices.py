"""Slices: how members of a group are divided into slices of a fixed size, each within one part of the group's domain.

Pure. The search for a domain asks in which part each member is tried.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def assign(members: int, size: int, room: npt.NDArray[np.int64], held: npt.NDArray[np.int64]) -> list[int]:
    """The part of each member, by its place in rank order; shorter where parts have no room for whole slices more.

    Args:
        members: how many are to be placed.
        size: of a slice; what is left over in the end makes a smaller one.
        room: int64, shape (parts,): how many members each part could take.
        held: int64, shape (parts,): how many members of the group run there. A slice that is not whole is filled first.
    """
    left, found = room.copy(), list[int]()
    for part in np.flatnonzero(held % size).tolist():
        count = min(size - int(held[part]) % size, members - len(found))
        if left[part] < count:
            return found
        found += [part] * count
        left[part] -= count
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
