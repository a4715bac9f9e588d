"""Ended members of groups: pods that the pod informer leaves out, but that a PodGroup's status counts.

The informer excludes pods that have succeeded or failed, as kube-scheduler's does, because they claim nothing on any
node. It cannot report how a pod ended: a pod that leaves its selection is reported in its previous version. A second
watch therefore follows ended pods only. It has no label selector, because a selector has no "or", and three labels may
name a group. Kubernetes keeps thousands of ended pods, so only each one's group and outcome are kept here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from muster.framework.groups.record import EndedHandler, EndedMember
from muster.framework.model.meta import OwnedMeta, Wire
from muster.framework.model.pod import PodSchedulingGroup
from muster.operator.kube.client import ApiClient
from muster.operator.kube.informer import Informer, Listed, Timing

_SUCCEEDED = "Succeeded"
_ENDED = "status.phase!=Pending,status.phase!=Running,status.phase!=Unknown"

NamedBy = Callable[["EndedPod"], str | None]
"""Returns the group, `namespace/name`, that an ended pod names. See `GroupKind.named_by`."""


class _Status(Wire):
    phase: str = ""


class _Spec(Wire):
    scheduling_group: PodSchedulingGroup | None = None


class EndedPod(Wire):
    """The fields of an ended pod that are needed to count it."""

    metadata: OwnedMeta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def succeeded(self) -> bool:
        """Whether the pod succeeded."""
        return self.status.phase == _SUCCEEDED


class EndedPods:
    """The informer's handler: turns ended pods into ended members, and ignores pods of no group."""

    def __init__(self, named_by: NamedBy, handler: EndedHandler) -> None:
        self._named_by = named_by
        self._handler = handler
        self._members: dict[str, EndedMember] = {}

    def on_add(self, pod: EndedPod, /) -> None:
        """Follow a pod that has ended, or had ended before the process started."""
        self._set(pod.metadata.uid, self._member(pod))

    def on_update(self, _old: EndedPod, new: EndedPod, /) -> None:
        """Follow a change of an ended pod, which may now name another group."""
        self._set(new.metadata.uid, self._member(new))

    def on_delete(self, pod: EndedPod, /) -> None:
        """Follow the deletion of an ended pod."""
        self._set(pod.metadata.uid, None)

    def _set(self, uid: str, now: EndedMember | None) -> None:
        before = self._members.pop(uid, None)
        if now is not None:
            self._members[uid] = now
        if before != now:
            self._handler(uid, before, now)

    def _member(self, pod: EndedPod) -> EndedMember | None:
        group = self._named_by(pod)
        return None if group is None else EndedMember(group, pod.succeeded)


def ended_pods(
    client: ApiClient, named_by: NamedBy, handler: EndedHandler, timing: Timing | None = None
) -> Informer[Any]:
    """The informer of pods that have ended."""
    ended = Listed("/api/v1/pods", EndedPod, field_selector=_ENDED)
    return Informer(client, ended, EndedPods(named_by, handler), timing=timing)
