"""Timing of plugins and extension points, reported to the observer.

Plugins are timed only in sampled attempts (one in ten, as in kube-scheduler), so that most attempts do not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable

from ..contract.cycle_state import CycleState
from ..contract.observer import Observer
from ..contract.status import Code, Status


class Timing:
    """Measures for one profile."""

    __slots__ = ("_observer", "_profile", "now")

    def __init__(self, observer: Observer, now: Callable[[], float], profile: str) -> None:
        self._observer = observer
        self._profile = profile
        self.now = now
        """Seconds on the engine's clock."""

    def point(self, point: str, status: Status | None, since: float) -> None:
        """An extension point that began at `since` has ended with `status`."""
        self._observer.extension_point(point, _code(status), profile=self._profile, seconds=self.now() - since)

    def sample(self, state: CycleState) -> float | None:
        """When a plugin's call begins; None when this attempt is not sampled."""
        return self.now() if state.sampled else None

    def plugin(self, plugin: str, point: str, status: Status | None, since: float | None) -> None:
        """A plugin's call that began at `since` (see `sample`) has ended with `status`."""
        if since is not None:
            self._observer.plugin_execution(plugin, point=point, status=_code(status), seconds=self.now() - since)

    def evaluated(self, plugin: str, point: str) -> None:
        """A plugin was not skipped at `point`."""
        self._observer.plugin_evaluated(plugin, point=point, profile=self._profile)


def _code(status: Status | None) -> Code:
    return Code.SUCCESS if status is None else status.code
