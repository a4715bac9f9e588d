"""Alignment: which nodes can give a pod what it requests as their topology managers demand.

`single-numa-node` wants all of a container, or of the pod, in one zone; the rules are those of scheduler-plugins.
`restricted`, which scheduler-plugins leaves to the kubelet, wants the fewest zones that could ever hold the amount, the
same zones for each resource. Containers are placed one after another, as a kubelet does; init containers and sidecars
are looked at but take nothing. Amounts are arrays over the nodes asked about, see `Zones`, which is written to.
What is free here has been taken off by pending pods in every zone; `certainty` looks at nodes that fail for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from muster.framework.contract import Codes, Mask

from .demand import Amounts, ZoneDemand, is_bound_to_zones, may_have_no_zone, taken
from .zones import Column, Zones

Offered = Callable[[str], Mask]
"""bool, shape (nodes,): whether a node names a resource at all."""
Chosen = npt.NDArray[np.bool_]
"""bool, shape (zones, nodes): the zones that are used of each node."""

MOST_SETS = 5000
"""Sets of zones of one size that are looked at; of nodes with more sets a kubelet judges alone."""

ALIGNED, POD, APP, INIT, SIDECAR = range(5)
_CODES = {"app": APP, "init": INIT, "sidecar": SIDECAR}


class Aligned(NamedTuple):
    """Which nodes can align a request, and with which zones."""

    fits: Mask
    chosen: Chosen


Aligner = Callable[[Zones, Amounts, bool, Offered], Aligned]


def unaligned(zones: Zones, demand: ZoneDemand, align: Aligner, *, whole: bool, offered: Offered) -> Codes:
    """int32, shape (nodes,): ALIGNED, or what cannot be aligned: POD, or the kind of the first such container.

    `whole` for the pod as one.
    """
    if whole:
        return np.where(align(zones, demand.together, demand.guaranteed, offered).fits, ALIGNED, POD).astype(np.int32)
    codes = np.full(zones.count, ALIGNED, np.int32)
    for container in demand.containers:
        found = align(zones, container.requests, demand.guaranteed, offered)
        codes[(codes == ALIGNED) & ~found.fits] = _CODES[container.kind]
        if container.kind == "app":
            take(zones, taken(container.requests, demand.guaranteed), found.chosen)
    return codes


def single_zone(zones: Zones, request: Amounts, guaranteed: bool, offered: Offered) -> Aligned:
    """The lowest zone that has it all."""
    possible = np.ones(zones.exists.shape, np.bool_)
    fits = np.ones(zones.count, np.bool_)
    for name, n in _wanted(request):
        fits &= offered(name)
        has = zones.has.get(name)
        anywhere = _anywhere(zones, name)
        if has is not None:
            suits = has if not guaranteed and is_bound_to_zones(name) else has & (zones.free[name] >= n)
            possible &= suits | ~anywhere
        if not may_have_no_zone(name):
            fits &= anywhere
    fits &= possible.any(axis=0)
    chosen = np.zeros(zones.exists.shape, np.bool_)
    chosen[np.argmax(possible, axis=0), np.arange(zones.count)] = fits
    return Aligned(fits, chosen)


def fewest_zones(zones: Zones, request: Amounts, guaranteed: bool, offered: Offered) -> Aligned:
    """The lowest set of zones that has it all, of the only size that a kubelet accepts."""
    size = np.zeros(zones.count, np.int64)
    fits = np.ones(zones.count, np.bool_)
    parts: list[tuple[str, int, Mask]] = []
    for name, n in _wanted(request):
        fits &= offered(name)
        has = zones.has.get(name)
        anywhere = _anywhere(zones, name)
        if not may_have_no_zone(name):
            fits &= anywhere
        if guaranteed or not is_bound_to_zones(name):
            needed = _size(zones, name, n) if has is not None else size
            fits &= ~anywhere | ((needed <= zones.height) & ((size == 0) | (size == needed)))
            size = np.where(anywhere & (size == 0), needed, size)
            parts.append((name, n, anywhere))
    chosen = np.zeros(zones.exists.shape, np.bool_)
    found = size == 0
    for count in np.unique(size[fits & ~found]).tolist():
        if comb(zones.height, count) > MOST_SETS:
            found |= size == count
            continue
        for members in sorted(combinations(range(zones.height), count), key=lambda each: each[::-1]):
            searched = fits & ~found & (size == count)
            if not searched.any():
                break
            for name, n, anywhere in parts:
                if name in zones.free:
                    searched &= ~anywhere | (zones.free[name][list(members)].sum(axis=0) >= n)
            chosen[list(members)] |= searched
            found |= searched
    return Aligned(fits & found, chosen)


def take(zones: Zones, amounts: Amounts, chosen: Chosen) -> None:
    """Take the amounts from the chosen zones of each node, the lowest first, as far as they have any."""
    for name, n in amounts.items():
        free = zones.free.get(name)
        if free is None:
            continue
        left = np.full(zones.count, n, np.int64)
        for zone in range(zones.height):
            part = np.where(chosen[zone], np.minimum(left, free[zone]), 0)
            free[zone] -= part
            left -= part


def _anywhere(zones: Zones, name: str) -> Mask:
    """bool, shape (nodes,): whether any zone has any of the resource."""
    found: Mask = np.zeros(zones.count, np.bool_)
    if name in zones.has:
        found |= zones.has[name].any(axis=0)
    return found


def _size(zones: Zones, name: str, n: int) -> Column:
    """int64, shape (nodes,): how many zones it takes to hold the amount if they are empty; too many if none can."""
    together = np.cumsum(-np.sort(-zones.allocatable[name], axis=0), axis=0)
    enough = together >= n
    return np.where(enough.any(axis=0), np.argmax(enough, axis=0) + 1, zones.height + 1)


def _wanted(request: Amounts) -> Iterable[tuple[str, int]]:
    return ((name, n) for name, n in request.items() if n)
