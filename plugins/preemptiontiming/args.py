"""Arguments of the PreemptionTiming plugin."""

from __future__ import annotations

from collections.abc import Iterator

from muster.framework.contract.arguments import Int64, PluginArgs, Problem, invalid
from muster.framework.groups import MOST_SECONDS, NO_SECONDS


class PreemptionTimingArgs(PluginArgs):
    """The times for pods of which neither their group nor their PriorityClass says anything else.

    Attributes:
        delay_seconds: how long a pod or group of the profile waits for a node before it may evict pods.
        min_run_seconds: how long a pod runs before pods and groups of the profile may evict it.
    """

    delay_seconds: Int64 = 0
    min_run_seconds: Int64 = 0

    def problems(self, path: str) -> Iterator[Problem]:
        """The problems with the values; `path` is where the arguments stand."""
        for field, seconds in (("delaySeconds", self.delay_seconds), ("minRunSeconds", self.min_run_seconds)):
            if not 0 <= seconds <= MOST_SECONDS:
                yield invalid(f"{path}.{field}", seconds, NO_SECONDS)
