"""The claim tracker: claims as the API shows them, with the scheduler's decisions that the API does not show yet.

An allocation that Reserve decided on is pending until PreBind has written it. What PreBind wrote is assumed until the
watch has caught up. Both count as allocated (upstream: `claimTracker` with its assume cache). All profiles share one
tracker, which also receives every claim event once for each of them: the second one changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from muster.framework.model.devices import EXTENDED_RESOURCE_CLAIM, AllocationResult, ResourceClaim

from .use import DeviceUse


@dataclass(slots=True)
class Pending:
    """An allocation that is not written yet.

    Attributes:
        allocation: what was decided.
        sharers: UIDs of the pods that rely on it.
        group: the group whose members may share it; "" when none may.
    """

    allocation: AllocationResult
    sharers: set[str] = field(default_factory=set)
    group: str = ""


class ClaimTracker:
    """All claims, by `namespace/name`, and pending allocations by the claims' UIDs."""

    def __init__(self, use: DeviceUse) -> None:
        self._use = use
        self._claims: dict[str, ResourceClaim] = {}
        self._key_of: dict[str, str] = {}
        self._pending: dict[str, Pending] = {}
        self._counted: dict[str, AllocationResult] = {}
        self._extended: dict[str, str] = {}

    def get(self, key: str) -> ResourceClaim | None:
        """The claim `namespace/name`."""
        return self._claims.get(key)

    def pending(self, uid: str) -> Pending | None:
        """The pending allocation of the claim."""
        return self._pending.get(uid)

    def under_way(self) -> Mapping[str, tuple[AllocationResult, frozenset[str]]]:
        """All pending allocations with the pods that rely on them, for the self-check."""
        return {uid: (pending.allocation, frozenset(pending.sharers)) for uid, pending in self._pending.items()}

    def extended_claim_of(self, pod_uid: str) -> ResourceClaim | None:
        """The claim that was made for the extended resources of the pod."""
        key = self._extended.get(pod_uid)
        return None if key is None else self._claims.get(key)

    def saw(self, claim: ResourceClaim) -> None:
        """Take over a version of the claim from the watch or from an answer of the API, unless it is older."""
        known = self._claims.get(claim.key)
        if known is not None and known.metadata.uid == claim.metadata.uid and _version(claim) <= _version(known):
            return
        if known is not None and known.metadata.uid != claim.metadata.uid:
            self.lost(known)
        uid = claim.metadata.uid
        self._claims[claim.key] = claim
        self._key_of[uid] = claim.key
        for owner in _extended_owners(claim):
            self._extended[owner] = claim.key
        self._recount(uid)

    def lost(self, claim: ResourceClaim) -> None:
        """Remove a claim that was deleted."""
        uid = claim.metadata.uid
        if self._key_of.pop(uid, None) is None:
            return
        del self._claims[claim.key]
        for owner in _extended_owners(claim):
            self._extended.pop(owner, None)
        self._recount(uid)

    def reserve(self, uid: str, allocation: AllocationResult, pod_uid: str, group: str = "") -> None:
        """Note that the pod relies on this allocation of the claim. The first pod's allocation holds for all."""
        key = self._key_of.get(uid)
        if uid not in self._pending:
            if key is not None and self._claims[key].allocation is not None:
                return
            self._pending[uid] = Pending(allocation, group=group)
        self._pending[uid].sharers.add(pod_uid)
        self._recount(uid)

    def release(self, uid: str, pod_uid: str) -> None:
        """Note that the pod no longer relies on the pending allocation, which ends with the last pod."""
        pending = self._pending.get(uid)
        if pending is None or pod_uid not in pending.sharers:
            return
        pending.sharers.discard(pod_uid)
        if not pending.sharers:
            del self._pending[uid]
            self._recount(uid)

    def unreserve(self, claim: ResourceClaim, consumer: str = "") -> bool:
        """Note that the reservation of this version of the claim is about to end in the API, for one UID or for all.

        Returns whether it is the latest version. Until the write, a pod that needs a reservation makes a new one, and
        one of the two writes fails.
        """
        if self._claims.get(claim.key) is not claim:
            return False
        left = tuple(each for each in claim.status.reserved_for if consumer and each.uid != consumer)
        self._claims[claim.key] = replace(claim, status=replace(claim.status, reserved_for=left))
        return True

    def written(self, uid: str) -> None:
        """Note that the pending allocation was written."""
        if self._pending.pop(uid, None) is not None:
            self._recount(uid)

    def _recount(self, uid: str) -> None:
        """Count the current allocation of the claim, once, in place of the previous one."""
        key, pending = self._key_of.get(uid), self._pending.get(uid)
        now = None if key is None else self._claims[key].allocation
        if pending is not None:
            now = pending.allocation
        before = self._counted.pop(uid, None)
        if now is not None:
            self._counted[uid] = now
        if now is before or now == before:
            return
        if before is not None:
            self._use.remove(before)
        if now is not None:
            self._use.add(now)


def _version(claim: ResourceClaim) -> int:
    version = claim.metadata.resource_version
    return int(version) if version.isdecimal() else 0


def _extended_owners(claim: ResourceClaim) -> Iterable[str]:
    if claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) != "true":
        return ()
    return [owner.uid for owner in claim.metadata.owner_references if owner.controller]
