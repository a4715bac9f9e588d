"""Queueing hints that several volume plugins share: whether an event concerns a claim of the pod."""

from __future__ import annotations

from collections.abc import Collection

from muster.framework.contract import Hint
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.pod_volumes import claims_named_by, mounts_of
from muster.framework.model.volumes import PersistentVolumeClaim


def named_claim(pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> Hint:
    """Helps if the added or changed claim is one that the pod names."""
    return _queue_if_among(claims_named_by(pod.pod), pod, new)


def mounted_claim(pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> Hint:
    """Helps if the claim is one that the pod names, or one that is created for the pod."""
    return _queue_if_among([mount.claim for mount in mounts_of(pod.pod)], pod, new)


def _queue_if_among(names: Collection[str], pod: PodInfo, claim: PersistentVolumeClaim) -> Hint:
    among = claim.metadata.namespace == pod.namespace and claim.metadata.name in names
    return Hint.queue_if(among)
