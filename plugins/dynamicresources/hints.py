"""Queueing hints of DynamicResources: whether a change of a claim or of the pod may help a rejected pod."""

from __future__ import annotations

from collections.abc import Callable

from muster.framework.contract import Hint, PodInfo
from muster.framework.model.devices import ResourceClaim

from .references import ClaimError, claims_of

Get = Callable[[str], ResourceClaim | None]


def claim_changed(pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim | None, get: Get) -> Hint:
    """Deallocated devices may help any waiting pod; any other change of a claim, only the pods that use it."""
    if new is None:
        return Hint.SKIP if old is None or old.allocation is None else Hint.QUEUE
    try:
        claims = claims_of(pod, get)
    except ClaimError:
        return Hint.SKIP
    if old is not None and old.allocation is not None and new.allocation is None:
        return Hint.QUEUE
    if all(claim.metadata.uid != new.metadata.uid for claim in claims):
        return Hint.SKIP
    return Hint.queue_if(old is None or old.status != new.status)


def pod_changed(new: PodInfo | None, get: Get) -> Hint:
    """The pod helps itself once all claims that it refers to can be used."""
    if new is None:
        return Hint.SKIP
    try:
        claims_of(new, get)
    except ClaimError:
        return Hint.SKIP
    return Hint.QUEUE
