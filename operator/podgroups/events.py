"""Events on groups of any kind. Pure."""

from __future__ import annotations

from muster.framework.contract import WatchedKind
from muster.framework.groups.reporting import Notice
from muster.framework.model.meta import ObjectMeta
from muster.operator.kube.events import cut_note
from muster.operator.kube.references import ObjectReference
from muster.operator.kube.series import EventKey


def event_of(
    notice: Notice, kind: WatchedKind, group: ObjectMeta, *, reporter: str, action: str = "Scheduling"
) -> EventKey:
    """The Event that `reporter` records on a group, an object of this kind.

    Its reference to the group names no resource version, so that repetitions count as one Event.
    """
    about = ObjectReference(
        kind=kind.name, namespace=group.namespace, name=group.name, uid=group.uid, api_version=kind.api_version
    )
    return EventKey(notice.type, notice.reason, action, cut_note(notice.note), reporter, about, None)
