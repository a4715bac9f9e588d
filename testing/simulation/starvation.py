"""Starvation: whoever has waited longest of those that can be helped starts within the bound that is promised.

The judge has this look every few seconds once the troubles are over. A pod or group can be helped when it fits as soon
as all pods that pass have ended: those that stay are not in its way. Of those that can be helped the most important is
meant, and of several the one that waits longest, for it has a reservation before the others.

The bound is that of `muster.plugins.reservation.rounds`: `starts_within(after, longest)` from the first refusal on.
There `longest` is how long pods run that end, for a pod that has run longer is known to stay once a round of the
reservation is longer than that. Here, in addition, what stays may have got its place while somebody waited already,
and is known to stay after a round that is longer than that wait. So with `oldest` for the moment at which the first
of all that wait came, and `still` for the last change of anything that stays, of a leader, of who waits or who of
them is the first, the first starts by

    oldest + starts_within(after, max(longest, still - oldest))

unless something of this changes again: then it is counted from there.

A leader with a half-open watch does not know who waits. That is a trouble like others, and ends when the leader notices
it: whoever came meanwhile is refused first then.
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
    """After how many seconds room is reserved, and how long pods that pass run at most."""

    after: float
    longest: float


class Starvation:
    """Looks for holders that could be helped and were not.

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
        """All that does not change while the crowd passes."""
        pods = (pod for pod in self._server.objects(PODS) if pod["spec"].get("nodeName") and not passes(pod))
        return (
            [replica.identity for replica in self._replicas if replica.leads],
            [(node["metadata"], node["spec"], node["status"]["allocatable"]) for node in self._server.objects(NODES)],
            [(pod["metadata"]["uid"], pod["spec"]["nodeName"]) for pod in pods if not has_ended(pod)],
            [(each.name, each.missing, len(each.pods)) for each in wait if not passes(each.pods[0])],
        )
