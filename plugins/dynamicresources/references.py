"""Which claims a pod refers to, and whether a claim is its own (upstream: `resourceclaim`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from muster.framework.model.devices import ResourceClaim
from muster.framework.model.pod_info import PodInfo


class ClaimError(Exception):
    """A claim that the pod needs is not there, not its own, or going. The text is told to people."""


def claims_of(pod: PodInfo, get: Callable[[str], ResourceClaim | None]) -> list[ResourceClaim]:
    """The pod's claims, in order, out of those by `namespace/name`. Raises ClaimError."""
    return [_usable(pod, key, get(key), generated) for key, generated in claim_keys(pod)]


def claim_keys(pod: PodInfo) -> Iterator[tuple[str, bool]]:
    """`namespace/name` of each claim, with whether it was generated for the pod. Raises ClaimError.

    A claim that was meant not to be generated is left out.
    """
    for reference in pod.pod.spec.resource_claims:
        if reference.resource_claim_name is not None:
            yield f"{pod.namespace}/{reference.resource_claim_name}", False
        elif reference.resource_claim_template_name is None:
            text = f'pod "{pod.key}", spec.resourceClaim "{reference.name}": none of the supported fields are set'
            raise ClaimError(text)
        else:
            statuses = pod.pod.status.resource_claim_statuses
            status = next((each for each in statuses if each.name == reference.name), None)
            if status is None:
                raise ClaimError(f'pod "{pod.key}": ResourceClaim not created yet')
            if status.resource_claim_name is not None:
                yield f"{pod.namespace}/{status.resource_claim_name}", True


def _usable(pod: PodInfo, key: str, claim: ResourceClaim | None, generated: bool) -> ResourceClaim:
    if claim is None:
        raise ClaimError(f'could not find ResourceClaim "{key}"')
    if claim.metadata.deletion_timestamp is not None:
        raise ClaimError(f'resourceclaim "{claim.metadata.name}" is being deleted')
    owned = any(owner.controller and owner.uid == pod.uid for owner in claim.metadata.owner_references)
    if generated and not owned:
        raise ClaimError(f"ResourceClaim {key} was not created for Pod {pod.key} (Pod is not owner)")
    return claim
