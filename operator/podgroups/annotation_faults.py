"""Reports annotations of groups that Muster does not know or cannot read: an Event on the object, once per change.

Such an annotation is ignored, so without the Event a mistyped key would go unnoticed. Faults that keep a group
from being scheduled, such as an invalid topology, are in its condition instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from muster.framework.contract import GroupKind
from muster.framework.groups.annotations import unknown_annotations
from muster.framework.groups.book import GroupBook
from muster.framework.groups.healing import healing_fault
from muster.framework.groups.reporting import Notice
from muster.framework.groups.timing import timing_faults
from muster.operator.kube.series import EventKey

from .events import event_of
from .worker import GroupWorker, WorkerPorts


class AnnotationFaults(GroupWorker):
    """Reports faulty annotations of the groups of one kind, and of their composites."""

    def __init__(self, groups: GroupBook[Any, Any], kind: GroupKind[Any], ports: WorkerPorts) -> None:
        super().__init__(ports, groups)
        self._groups = groups
        self._kind = kind
        self._reported: dict[str, frozenset[EventKey]] = {}
        groups.subscribe(self._mark)

    def _mark(self, key: str) -> None:
        """Queue the group if its faults changed."""
        events = frozenset(self._events(key))
        if not events:
            self._reported.pop(key, None)
        elif self._reported.get(key) != events:
            self._enqueue(key, not_before=self._clock.now())

    async def _reconcile(self, key: str) -> None:
        """Report the faults that the object still has and that are not reported yet."""
        events = [*self._events(key)]
        before = self._reported.get(key, frozenset())
        if events:
            self._reported[key] = frozenset(events)
        for event in events:
            if event not in before:
                self._ports.recorder.record(event)

    def _events(self, key: str) -> Iterator[EventKey]:
        found = self._groups.object_of(key)
        if found is None:
            return
        composites, reporter = self._kind.composites, self._ports.reporter
        kind = self._kind.objects if composites is None or isinstance(found, self._kind.objects.type) else composites
        for action, notice in self._notices(found.annotations):
            yield event_of(notice, kind, found.metadata, reporter=reporter, action=action)

    def _notices(self, annotations: Mapping[str, str]) -> Iterator[tuple[str, Notice]]:
        """The notice about each fault, with the action that the annotation concerns."""
        if fault := healing_fault(annotations):
            yield "Healing", Notice("Warning", "InvalidHealingPolicy", fault)
        for line in (*self._kind.annotation_faults(annotations), *timing_faults(annotations)):
            yield "Scheduling", Notice("Warning", "InvalidAnnotation", line)
        for line in unknown_annotations(annotations, self._kind.annotations):
            yield "Scheduling", Notice("Warning", "UnknownAnnotation", line)
