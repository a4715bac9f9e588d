"""Starvation: the first in line of those that can be helped starts within the documented bound.

The judge looks every few seconds once the faults are over. A pod or group can be helped if it fits as soon as all
passing pods have ended; pods that stay are then not in its way. Only the first in line is judged: the one of the
highest priority, and among equals the one that has waited longest, because it gets a reservation before the others.

The bound is `starts_within(after, longest)` of `muster.plugins.reservation.rounds`, from the first refusal on. There,
`longest` is the longest run time of pods that end: a pod that has run longer is known to stay once a round of the
reservation is longer than that. Here, a pod that stays may also have been bound while others waited already, and it is
known to stay only after a round that is longer than their wait. Let `oldest` be the time at which the first waiting pod
or group was refused, and `still` the last change of a pod that stays, of the leader, of the waiting pods, or of their
order. The first in line starts by

    oldest + starts_within(after, max(longest, still - oldest))

unless one of these changes again; the bound is then computed anew.

A leader with a half-open watch does not know which pods wait. This is a fault like others and ends when the leader
notices it: pods that were created in between are refused first at that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from muster.plugins.reservation.rounds import starts_within
from muster.sandbox.kinds import NODES, PODS

from .amounts import has_ended
from .claimants import Capacity, Claimant, claimants
from .passing import passes
from .replica import Replica
from .server import SimulatedServer

_EVERY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Patience:
    """The seconds after which capacity is reserved, and the longest run time of pods that pass."""

    after: float
    longest: float


class Starvation:
    """Finds pods and groups that could be helped and did not start in time.

    Attributes:
        helped: the names of those that waited for their reservation although they could be helped.
    """

    def __init__(self, server: SimulatedServer, replicas: Sequence[Replica], patience: Patience, now: float) -> None:
        self.helped: set[str] = set()
        self._server = server
        self._replicas = replicas
        self._patience = patience
        self._before: object = None
        self._heard_at = -inf
        self._looked_at = self._still = now

    def look(self, now: float) -> Iterator[str]:
        """Check now and then whether any claimant has waited too long."""
        if now < self._looked_at + _EVERY_SECONDS:
            return
        self._looked_at = now
        if any(replica.leads and replica.transport.is_deaf for replica in self._replicas):
            self._heard_at = self._still = now
            return
        wait = [*claimants(self._server)]
        first = self._first(wait)
        stays = first and first.name, self._stays(wait)
        if stays != self._before:
            self._before, self._still = stays, now
        if first is None:
            return
        oldest = min(each.since for each in wait)
        within = starts_within(self._patience.after, max(self._patience.longest, self._still - oldest))
        if now > first.since + self._patience.after:
            self.helped.add(first.name)
        heard_of = self._heard_at + starts_within(self._patience.after, self._patience.longest)
        if now > max(oldest + within, heard_of) + _EVERY_SECONDS:
            yield f"{first} wait for {now - first.since:.0f} s, and could be helped since {now - self._still:.0f} s"
            self._still = now

    def _first(self, wait: Sequence[Claimant]) -> Claimant | None:
        """The most important claimant that can be helped, and of several the one that has waited longest."""
        if not wait:
            return None
        left = Capacity(self._server, counts=lambda pod: not passes(pod))
        can_be_helped = (each for each in wait if left.takes(each))
        return min(can_be_helped, key=lambda each: (-each.priority, each.since), default=None)

    def _stays(self, wait: Sequence[Claimant]) -> object:
        """The state that stays the same while the crowd passes."""
        pods = (pod for pod in self._server.objects(PODS) if pod["spec"].get("nodeName") and not passes(pod))
        return (
            [replica.identity for replica in self._replicas if replica.leads],
            [(node["metadata"], node["spec"], node["status"]["allocatable"]) for node in self._server.objects(NODES)],
            [(pod["metadata"]["uid"], pod["spec"]["nodeName"]) for pod in pods if not has_ended(pod)],
            [(each.name, each.missing, len(each.pods)) for each in wait if not passes(each.pods[0])],
        )
