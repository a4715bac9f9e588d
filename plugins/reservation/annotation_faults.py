"""Pods with annotations under Muster's prefix that it does not know: each gets one Event per key.

A pod that mistypes the annotation from which reservations are planned would seem to run for ever, and nothing would say
so. `Reservation`, the one plugin that reads annotations of pods, reports them here. A process that does not lead, or
has not synced yet, must not report; the next leader reports the pods that it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from muster.framework.contract import Handle, PodInfo
from muster.framework.groups import unknown_annotations
from muster.framework.model.run_seconds import RUN_SECONDS

_KNOWN = frozenset({RUN_SECONDS})
_PATIENCE_SECONDS = 1.0


class _Faulty(NamedTuple):
    """A pod, and a line for each of its keys."""

    pod: PodInfo
    lines: Sequence[str]


class PodAnnotationFaults:
    """Faults that are not reported yet, by pod."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._pending: dict[str, _Faulty] = {}
        self._looking = False

    def follow(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod that has not ended came, changed or went."""
        if old is not None and (new is None or new.uid != old.uid):
            self._pending.pop(old.uid, None)
            old = None
        if new is None:
            return
        annotations = new.pod.metadata.annotations
        if annotations == (old.pod.metadata.annotations if old is not None else {}):
            return
        self._pending.pop(new.uid, None)
        if lines := unknown_annotations(annotations, _KNOWN):
            self._pending[new.uid] = _Faulty(new, lines)
            self._look_later()

    def _look_later(self) -> None:
        if self._pending and not self._looking:
            self._looking = True
            self._handle.clock.call_later(_PATIENCE_SECONDS, self._look)

    def _look(self) -> None:
        self._looking = False
        if not self._handle.may_report():
            self._look_later()
            return
        pending, self._pending = self._pending, {}
        for pod, lines in pending.values():
            for line in lines:
                self._handle.events.event(
                    pod, type="Warning", reason="UnknownAnnotation", action="Scheduling", note=line
                )
