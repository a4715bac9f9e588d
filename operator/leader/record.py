"""The lease as a record, and the rules for taking it. Pure: the caller passes the time.

The rules are client-go's: a lease belongs to its holder until it was not renewed for its duration *as seen from here*,
on the observer's own monotonic clock, so the clocks of different machines need not agree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec


class LeaseMeta(msgspec.Struct, rename="camel", omit_defaults=True):
    """`metadata`, sent back as it was read, so that a renewal does not remove what other clients wrote."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []
    owner_references: list[msgspec.Raw] = []


class LeaseSpec(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """`spec`. Times are RFC 3339 with microseconds."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, rename="camel"):
    """`coordination.k8s.io/v1 Lease`."""

    metadata: LeaseMeta
    spec: LeaseSpec = LeaseSpec()
    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"


@dataclass(slots=True)
class ObservedLease:
    """The last seen version of the lease, and the time at which it was first seen (monotonic seconds)."""

    spec: LeaseSpec = field(default_factory=LeaseSpec)
    at: float = float("-inf")

    def see(self, spec: LeaseSpec, now: float) -> None:
        """Record a version that was read."""
        if spec != self.spec:
            self.spec = spec
            self.at = now

    def free_for(self, identity: str, now: float) -> bool:
        """Whether `identity` may take the lease: it holds the lease, the lease is free, or has expired."""
        holder = self.spec.holder_identity
        return not holder or holder == identity or now >= self.runs_out()

    def runs_out(self) -> float:
        """The time from which every process may take the lease, unless it is renewed before."""
        return self.at + (self.spec.lease_duration_seconds or 0)


def taken(spec: LeaseSpec, identity: str, *, duration: float, wall: float) -> LeaseSpec:
    """The spec after `identity` has acquired or renewed the lease at `wall` (seconds since the epoch)."""
    time = datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    mine = spec.holder_identity == identity
    transitions = spec.lease_transitions or 0
    return LeaseSpec(
        holder_identity=identity,
        lease_duration_seconds=round(duration),
        acquire_time=spec.acquire_time if mine else time,
        renew_time=time,
        lease_transitions=transitions if mine or not spec.renew_time else transitions + 1,
    )


def released(spec: LeaseSpec, *, wall: float) -> LeaseSpec:
    """The spec after its holder has released the lease, which is then free at once."""
    time = datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return LeaseSpec("", 1, time, time, spec.lease_transitions)
