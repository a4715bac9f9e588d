"""Deallocation: which claim blocks a pod, so that releasing its devices may help (upstream: `PostFilter`)."""

from __future__ import annotations

from muster.framework.contract import PodInfo
from muster.framework.model.devices import ResourceClaim

from .claiming import Claiming
from .consumers import Consumers
from .extended import in_memory


def blocking(pod: PodInfo, claiming: Claiming, consumers: Consumers) -> ResourceClaim | None:
    """A claim that some node cannot use and no other pod uses, or what is left of the pod's extended resources.

    No other pod uses it if it is reserved for nobody, for the pod alone, or for the pod's group alone while none of its
    pods has a node; and if no pod that has a node is to be bound with it. kube-scheduler does not check the latter:
    there it depends on whether PreBind is faster.
    """
    extended = claiming.extended_claim
    left_over = extended is not None and not in_memory(extended)
    for at in sorted(claiming.unavailable):
        claim = claiming.claims[at]
        if at == claiming.extended:
            if left_over:
                break
            continue
        if claim.allocation is None:  # a pending allocation, shared in a trial
            continue
        users = [consumer.uid for consumer in claim.status.reserved_for]
        if not consumers.uses(claim) and (not users or users in ([pod.uid], [consumers.idle_group(pod)])):
            return claim
    return extended if left_over else None
