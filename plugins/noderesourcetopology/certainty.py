"""Certainty: nodes where a pod finds a zone wherever the pending pods of the node get theirs.

To take a pending pod off every zone is safe, but a gang that needs several zones of a node would never start. So nodes
that fail for it are looked at again: a zone is lost only if some number of pending containers, each of which gets one
zone, end up in it. If there are fewer of them than it takes to lose all zones, one zone stays. Kubelets with the policy
`restricted` give a container one zone, too, if one could hold all that it requests.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from muster.framework.contract import Mask

from .alignment import Offered
from .demand import Amounts, ZoneDemand, is_bound_to_zones, may_have_no_zone, taken
from .zones import Column, Zones

_NEVER = np.iinfo(np.int64).max // 128
"""More containers than any node has; as many zones as a node may have can be added up."""


def fits_anyway(zones: Zones, demand: ZoneDemand, *, whole: bool, offered: Offered) -> Mask:
    """bool, shape (nodes,): where each container, or the `whole` pod, has a zone whatever zones the others get.

    Writes to `zones`: containers of the pod count as pending for those that start after them.
    """
    guaranteed = demand.guaranteed
    fits = (zones.pending > 0) & _one_zone_each(zones, zones.largest.items())
    for request in (demand.together,) if whole else [each.requests for each in demand.containers]:
        own = taken(request, guaranteed)
        fits &= _one_zone_each(zones, ((name, np.int64(n)) for name, n in own.items()))
        open_to_it, sure = _open_to(zones, request, guaranteed, offered)
        lost = np.where(open_to_it, _to_lose(zones, own), 0)
        fits &= sure & (lost.sum(axis=0) > zones.pending)
        zones.pending += bool(own)
        for name, n in own.items():
            zones.largest[name] = np.maximum(zones.largest.get(name, np.zeros(zones.count, np.int64)), n)
    return fits


def _one_zone_each(zones: Zones, amounts: Iterable[tuple[str, Column | np.int64]]) -> Mask:
    """bool, shape (nodes,): whether one zone could hold each of these amounts if it were empty."""
    fits = np.ones(zones.count, np.bool_)
    for name, n in amounts:
        if name in zones.allocatable:
            fits &= ~zones.has[name].any(axis=0) | (zones.allocatable[name].max(axis=0) >= n)
    return fits


def _open_to(zones: Zones, request: Amounts, guaranteed: bool, offered: Offered) -> tuple[Mask, Mask]:
    """The zones with room for it as reported, bool of shape (zones, nodes), and nodes that have it at all."""
    possible, fits = zones.exists.copy(), np.ones(zones.count, np.bool_)
    for name, n in request.items():
        if not n:
            continue
        fits &= offered(name)
        has = zones.has.get(name, np.zeros(zones.exists.shape, np.bool_))
        anywhere = has.any(axis=0)
        if not guaranteed and is_bound_to_zones(name):
            possible &= has | ~anywhere
        elif name in zones.reported:
            possible &= (has & (zones.reported[name] >= n)) | ~anywhere
        if not may_have_no_zone(name):
            fits &= anywhere
    return possible, fits


def _to_lose(zones: Zones, own: Amounts) -> Column:
    """int64, shape (zones, nodes): how many pending containers it takes at least to use up a zone for it."""
    least = np.full(zones.exists.shape, _NEVER, np.int64)
    for name, n in own.items():
        largest = zones.largest.get(name)
        if largest is not None and name in zones.reported:
            spare = zones.reported[name] - n + 1
            containers = -(-spare // np.maximum(largest, 1))
            least = np.where(zones.has[name] & (largest > 0), np.minimum(least, containers), least)
    return least
