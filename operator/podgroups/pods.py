"""The members of groups as the controller sees them: every pod with a group's label, ended ones included.

The scheduler's own pod informer leaves out pods that have ended, and holds far more of each pod than counting needs.
So these are informers of their own: one for each label that may name a group, as a selector cannot say "or".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from muster.framework.model.meta import Wire
from muster.operator.kube.client import ApiClient
from muster.operator.kube.informer import Informer, Listed
from muster.plugins.coscheduling.api import GROUP_LABELS

_CURRENT, _SIGS, _MING = GROUP_LABELS


class _Owner(Wire):
    name: str = ""


class _Labels(Wire):
    """The labels that name a group, in the order in which they are looked at."""

    current: str = msgspec.field(default="", name=_CURRENT)
    sigs: str = msgspec.field(default="", name=_SIGS)
    ming: str = msgspec.field(default="", name=_MING)


class _Metadata(Wire):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    labels: _Labels = _Labels()
    owner_references: tuple[_Owner, ...] = ()


class _Spec(Wire):
    node_name: str = ""


class _Status(Wire):
    phase: str = ""


class MemberPod(Wire):
    """What counting reads of a pod."""

    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Member(NamedTuple):
    """What a pod adds to its group.

    Attributes:
        group: `namespace/name`.
        phase: Pending, Running, Succeeded, Failed or Unknown.
        scheduled: whether it has a node and has not failed.
        owners: `namespace/name` of who owns it; nobody, once it has ended.
    """

    group: str
    phase: str
    scheduled: bool
    owners: tuple[str, ...]


class Follower(Protocol):
    """Who wants to hear of members."""

    def member_changed(self, old: Member | None, new: Member | None) -> None:
        """A member came (`old` is None), changed, or went (`new` is None). The two may be of different groups."""
        ...


def informers(client: ApiClient, follower: Follower) -> Sequence[Informer[Any]]:
    """The informers that tell `follower` of all members of all groups."""
    kind: Any = MemberPod  # its metadata is narrower than other objects'
    return [
        Informer(client, Listed("/api/v1/pods", kind, label_selector=label), MemberHandler(place, follower))
        for place, label in enumerate(GROUP_LABELS)
    ]


def member_of(pod: MemberPod, place: int) -> Member | None:
    """What the pod adds to the group that it names by its label at `place`; None when another label comes first.

    A pod that is alive and being deleted adds nothing: it makes room for its successor.
    """
    meta, phase = pod.metadata, pod.status.phase or "Pending"
    labels = (meta.labels.current, meta.labels.sigs, meta.labels.ming)
    name = labels[place]
    ended = phase in ("Succeeded", "Failed")
    if not name or any(labels[:place]) or (meta.deletion_timestamp is not None and not ended):
        return None
    return Member(
        group=f"{meta.namespace}/{name}",
        phase=phase,
        scheduled=bool(pod.spec.node_name) and phase != "Failed",
        owners=() if ended else tuple(f"{meta.namespace}/{owner.name}" for owner in meta.owner_references),
    )


class MemberHandler:
    """Turns what one informer hears into changes of members. No pod is a member through two labels.

    What a pod last added is kept: the last that is heard of it when it goes may already be something else.
    """

    def __init__(self, place: int, follower: Follower) -> None:
        self._place = place
        self._follower = follower
        self._members: dict[str, Member] = {}

    def on_add(self, pod: MemberPod, /) -> None:
        """A pod with the label appeared."""
        self._tell(pod.metadata.uid, member_of(pod, self._place))

    def on_update(self, _old: MemberPod, new: MemberPod, /) -> None:
        """A pod changed."""
        self._tell(new.metadata.uid, member_of(new, self._place))

    def on_delete(self, pod: MemberPod, /) -> None:
        """A pod is gone, or lost the label."""
        self._tell(pod.metadata.uid, None)

    def _tell(self, uid: str, now: Member | None) -> None:
        before = self._members.pop(uid, None)
        if now is not None:
            self._members[uid] = now
        if before != now:
            self._follower.member_changed(before, now)
