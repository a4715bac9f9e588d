"""Reports of pods that wait at Permit for long: an Event and the PodScheduled condition, with the plugins' reasons.

Such a pod has its node reserved and is in no part of the queue, so nothing else would explain why it does not start.
The binding cycle enters `reporting` while it waits on Permit. With Coscheduling's placement `PodByPod`, members
of a gang wait for a moment while the others are placed; a wait as short as that is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from ..model.pod import WAITING_ON_PERMIT
from .attempt import Attempt
from .ports import Ports

PATIENCE_SECONDS = 5.0


class PermitReports:
    """Reports pods that wait at Permit through the ports."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    @contextmanager
    def reporting(self, attempt: Attempt) -> Iterator[None]:
        """Report the pod if it still waits after `PATIENCE_SECONDS`."""
        timer = self._ports.clock.call_later(PATIENCE_SECONDS, partial(self._report, attempt))
        try:
            yield
        finally:
            timer.cancel()

    def _report(self, attempt: Attempt) -> None:
        pod, waits = attempt.pod, attempt.framework.permitting.waits_of(attempt.pod)
        if not waits:
            return
        message = waits_on_permit(attempt.node_name, waits)
        sink = self._ports.events(pod.pod.spec.scheduler_name)
        sink.event(pod, type="Warning", reason=WAITING_ON_PERMIT, action="Scheduling", note=message)
        self._ports.conditions.unscheduled(pod, reason=WAITING_ON_PERMIT, message=message, nominated_node=None)


def waits_on_permit(node_name: str, waits: Mapping[str, str]) -> str:
    """The message for a pod at Permit; `waits` has the text of each plugin for which it waits, "" for none."""
    names = ", ".join(sorted(waits))
    texts = "; ".join(waits[name] for name in sorted(waits) if waits[name])
    return f"waits on node {node_name} for {names} to permit it{f': {texts}' if texts else ''}"
