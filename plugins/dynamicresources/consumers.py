"""Consumers: the pod, or the PodGroup for all its pods, that a claim is reserved for (upstream: `BindTo`).

A group's reservation belongs to every pod of the group, so no single pod releases it. It is released when the group is
rejected and none of its pods has a node. A pod with a node also uses the claims that PreBind has not reserved for it
yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from muster.framework.contract import EventResource, Handle, PodInfo, WatchedKind
from muster.framework.model.devices import ConsumerReference, ResourceClaim
from muster.framework.model.meta import ObjectMeta
from muster.framework.model.pod import PodResourceClaim


class _Spec(Protocol):
    @property
    def resource_claims(self) -> tuple[PodResourceClaim, ...]: ...


class _PodGroup(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...

    @property
    def spec(self) -> _Spec: ...


_POD_GROUPS = WatchedKind(EventResource.NATIVE_POD_GROUP, "/apis/scheduling.k8s.io/v1beta1/podgroups", _PodGroup)
"""Read where the plugin of such groups watches them; this plugin does not."""


class Consumers:
    """The pods with claims, and their PodGroups of scheduling.k8s.io, as far as a plugin follows those."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._holders: dict[str, dict[str, bool]] = {}
        self._unreserved: dict[str, set[str]] = {}

    def consumer(self, pod: PodInfo, reference: PodResourceClaim) -> ConsumerReference:
        """The consumer of the claim to which the pod refers: its group, if the group refers to it in the same way."""
        group = self._group(pod)
        if group is None or reference not in group.spec.resource_claims:
            return itself(pod)
        name, uid = group.metadata.name, group.metadata.uid
        return ConsumerReference(api_group="scheduling.k8s.io", resource="podgroups", name=name, uid=uid)

    def idle_group(self, pod: PodInfo) -> str:
        """The UID of the pod's group, if none of its pods has a node; "" otherwise."""
        group = self._group(pod)
        return "" if group is None or _key(pod) in self._holders else group.metadata.uid

    def follow(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Note a pod that has not ended: added, changed or removed."""
        if old is not None and (new is None or new.uid != old.uid):
            self._drop(old)
        if new is not None and new.node_name:
            self._hold(new, bound=True)

    def uses(self, claim: ResourceClaim) -> bool:
        """Whether a pod with a node is going to be bound with the claim, which may not be reserved for it yet."""
        return claim.metadata.uid in self._unreserved

    def place(self, pod: PodInfo, claims: Iterable[ResourceClaim]) -> None:
        """Note that a node was reserved for the pod, which is to be bound with these claims."""
        self._hold(pod, bound=False)
        for claim in claims:
            self._unreserved.setdefault(claim.metadata.uid, set()).add(pod.uid)

    def reserved(self, pod: PodInfo, claims: Iterable[ResourceClaim]) -> None:
        """Note that the claims are reserved for the pod, or that it is not bound with them after all."""
        for claim in claims:
            pods = self._unreserved.get(claim.metadata.uid, set())
            pods.discard(pod.uid)
            if not pods:
                self._unreserved.pop(claim.metadata.uid, None)

    def displace(self, pod: PodInfo, claims: Iterable[ResourceClaim] = ()) -> None:
        """Note that the reservation of the node was released. A bound pod keeps its node."""
        self.reserved(pod, claims)
        if not self._holders.get(_key(pod), {}).get(pod.uid, False):
            self._drop(pod)

    def _hold(self, pod: PodInfo, *, bound: bool) -> None:
        key = _key(pod)
        if key and pod.pod.spec.resource_claims:
            holders = self._holders.setdefault(key, {})
            holders[pod.uid] = bound or holders.get(pod.uid, False)

    def _drop(self, pod: PodInfo) -> None:
        holders = self._holders.get(_key(pod), {})
        if holders.pop(pod.uid, None) is not None and not holders:
            del self._holders[_key(pod)]

    def _group(self, pod: PodInfo) -> _PodGroup | None:
        key = _key(pod)
        if not key:
            return None
        try:
            return self._handle.lister(_POD_GROUPS).get(key)
        except KeyError:  # no plugin of any profile watches such groups
            return None


def itself(pod: PodInfo) -> ConsumerReference:
    """The pod as the consumer of a claim."""
    return ConsumerReference(resource="pods", name=pod.name, uid=pod.uid)


def _key(pod: PodInfo) -> str:
    """`namespace/name` of the pod's PodGroup; "" for a pod of none."""
    group = pod.pod.spec.scheduling_group
    return "" if group is None else f"{pod.namespace}/{group.pod_group_name}"
