"""Pods with annotations under Muster's prefix that it does not know: each gets one Event per key.

A pod that mistypes the annotation from which reservations are planned would seem to run forever, and nothing would say
so. `Reservation` reports them for all plugins; keys are in `framework.model`, because families do not import one
another. The next leader reports the pods that it finds.
"""

from __future__ import annotations

from collections.abc import Sequence

from muster.framework.contract import Handle, PodInfo
from muster.framework.groups import PendingReports, unknown_annotations
from muster.framework.model.run_seconds import RUN_SECONDS

_KNOWN = frozenset({RUN_SECONDS})


class PodAnnotationFaults:
    """Unknown annotations that are not reported yet: a line for each key, by pod."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._pending = PendingReports[Sequence[str]](handle, self._report)

    def follow(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod that has not ended was added, changed or removed."""
        if old is not None and (new is None or new.uid != old.uid):
            self._pending.drop(old.uid)
            old = None
        if new is None:
            return
        annotations = new.pod.metadata.annotations
        if annotations == (old.pod.metadata.annotations if old is not None else {}):
            return
        self._pending.drop(new.uid)
        if lines := unknown_annotations(annotations, _KNOWN):
            self._pending.put(new, lines)

    def _report(self, pod: PodInfo, lines: Sequence[str]) -> None:
        for line in lines:
            self._handle.events.event(pod, type="Warning", reason="UnknownAnnotation", action="Scheduling", note=line)
