"""Which claims a pod refers to, and whether a claim belongs to it, or to its group (upstream: `resourceclaim`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from muster.framework.model.devices import ResourceClaim
from muster.framework.model.pod import PodResourceClaim
from muster.framework.model.pod_info import PodInfo


class ClaimError(Exception):
    """Raised if a claim of the pod does not exist, is not its own, or is being deleted; the text is for users."""


def claims_of(pod: PodInfo, get: Callable[[str], ResourceClaim | None]) -> list[ResourceClaim]:
    """The pod's claims, in order, out of those by `namespace/name`. Raises ClaimError."""
    return [claim for _, claim in referred_claims(pod, get)]


def referred_claims(
    pod: PodInfo, get: Callable[[str], ResourceClaim | None]
) -> list[tuple[PodResourceClaim, ResourceClaim]]:
    """The pod's claims, in order, each with how the pod refers to it. Raises ClaimError."""
    return [(reference, _usable(pod, key, get(key), generated)) for reference, key, generated in _claim_keys(pod)]


def _claim_keys(pod: PodInfo) -> Iterator[tuple[PodResourceClaim, str, bool]]:
    """`namespace/name` of each claim, with whether it was generated. Raises ClaimError.

    A claim that was meant not to be generated is left out.
    """
    for reference in pod.pod.spec.resource_claims:
        if reference.resource_claim_name is not None:
            yield reference, f"{pod.namespace}/{reference.resource_claim_name}", False
        elif reference.resource_claim_template_name is None:
            text = f'pod "{pod.key}", spec.resourceClaim "{reference.name}": none of the supported fields are set'
            raise ClaimError(text)
        else:
            statuses = pod.pod.status.resource_claim_statuses
            status = next((each for each in statuses if each.name == reference.name), None)
            if status is None:
                raise ClaimError(f'pod "{pod.key}": ResourceClaim not created yet')
            if status.resource_claim_name is not None:
                yield reference, f"{pod.namespace}/{status.resource_claim_name}", True


def _usable(pod: PodInfo, key: str, claim: ResourceClaim | None, generated: bool) -> ResourceClaim:
    if claim is None:
        raise ClaimError(f'could not find ResourceClaim "{key}"')
    if claim.metadata.deletion_timestamp is not None:
        raise ClaimError(f'resourceclaim "{claim.metadata.name}" is being deleted')
    if generated and not _is_for(pod, claim):
        group = pod.pod.spec.scheduling_group
        owners = (
            "Pod is not owner" if group is None else f"neither Pod nor PodGroup {group.pod_group_name} is the owner"
        )
        raise ClaimError(f"ResourceClaim {key} was not created for Pod {pod.key} ({owners})")
    return claim


def _is_for(pod: PodInfo, claim: ResourceClaim) -> bool:
    """Whether the claim was generated for the pod, or for its PodGroup, whose UID no pod knows."""
    owner = next((each for each in claim.metadata.owner_references if each.controller), None)
    if owner is None or owner.uid == pod.uid:
        return owner is not None
    group = pod.pod.spec.scheduling_group
    named = group is not None and owner.name == group.pod_group_name
    return named and owner.kind == "PodGroup" and owner.api_version.startswith("scheduling.k8s.io/")
