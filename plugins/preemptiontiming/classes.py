"""PriorityClasses: what their annotations say about times around preemption, and Events about what cannot be read.

One object serves the plugins of all profiles. An Event about a class goes to a pod that names it: the first that is
seen, once for each version of the annotations, because a class has no namespace in which its owner would look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muster.framework.contract import Handle, PodInfo, WatchedKind
from muster.framework.groups import (
    TIMING_ANNOTATIONS,
    GroupMeta,
    PendingReports,
    timing_faults,
    unknown_annotations,
)
from muster.framework.model.meta import Wire

_NOTHING: Mapping[str, str] = {}
_Faults = Sequence[tuple[str, str]]


class PriorityClass(Wire):
    """A PriorityClass, with the annotations under Muster's prefix. Admission has copied the rest to the pods."""

    metadata: GroupMeta


PRIORITY_CLASSES = WatchedKind("PriorityClass", "/apis/scheduling.k8s.io/v1/priorityclasses", PriorityClass)


class PriorityClasses:
    """The annotations of each class by its name, and the reports about them."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._annotations: dict[str, Mapping[str, str]] = {}
        self._unreported: dict[str, _Faults] = {}
        self._reporting: dict[str, str] = {}
        self._pending = PendingReports[str](handle, self._report)

    def follow(self, old: PriorityClass | None, new: PriorityClass | None) -> None:
        """A class was added, changed or deleted."""
        before = _NOTHING if old is None else old.metadata.annotations
        after = _NOTHING if new is None else new.metadata.annotations
        found = new or old
        if found is None or before == after:
            return
        name = found.metadata.name
        self._annotations.pop(name, None)
        self._unreported.pop(name, None)
        if after:
            self._annotations[name] = after
        if faults := _faults(after):
            self._unreported[name] = faults

    def of(self, pod: PodInfo) -> Mapping[str, str]:
        """The annotations of the pod's class."""
        return self._annotations.get(pod.pod.spec.priority_class_name, _NOTHING)

    def any_has(self, key: str) -> bool:
        """Whether any class has this annotation."""
        return any(key in annotations for annotations in self._annotations.values())

    def follow_pod(self, pod: PodInfo, *, gone: bool) -> None:
        """A pod that has not ended was added or changed, or is gone."""
        if not self._unreported:
            return
        name = pod.pod.spec.priority_class_name
        if gone:
            if self._reporting.get(pod.uid) == name:
                del self._reporting[pod.uid]
                self._pending.drop(pod.uid)
        elif name in self._unreported and name not in self._reporting.values():
            self._reporting[pod.uid] = name
            self._pending.put(pod, name)

    def _report(self, pod: PodInfo, name: str) -> None:
        self._reporting.pop(pod.uid, None)
        for reason, fault in self._unreported.pop(name, ()):
            note = f"priority class {name}: {fault}"
            self._handle.events.event(pod, type="Warning", reason=reason, action="Scheduling", note=note)


def _faults(annotations: Mapping[str, str]) -> _Faults:
    invalid = [("InvalidAnnotation", line) for line in timing_faults(annotations)]
    unknown = [("UnknownAnnotation", line) for line in unknown_annotations(annotations, TIMING_ANNOTATIONS)]
    return [*invalid, *unknown]
