"""Deallocation: which claim blocks a pod, so that releasing its devices may help (upstream: `PostFilter`)."""

from __future__ import annotations

from muster.framework.contract import PodInfo
from muster.framework.model.devices import ResourceClaim

from .claiming import Claiming
from .extended import in_memory


def blocking(pod: PodInfo, claiming: Claiming, idle_group: str) -> ResourceClaim | None:
    """A claim that some node cannot use and no other pod uses, or what is left of the pod's extended resources.

    No other pod uses it where it is reserved for the pod alone, or for `idle_group` alone: the UID of the pod's group,
    if none of its pods has a node.
    """
    extended = claiming.extended_claim
    left_over = extended is not None and not in_memory(extended)
    for at in sorted(claiming.unavailable):
        claim = claiming.claims[at]
        if at == claiming.extended:
            if left_over:
                break
            continue
        users = [consumer.uid for consumer in claim.status.reserved_for]
        if not users or users in ([pod.uid], [idle_group]):
            return claim
    return extended if left_over else None
