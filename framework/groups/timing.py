"""Time around preemption: the annotations of a group or of a PriorityClass that say how long preemption waits.

`PreemptionTiming` reads them. Admission and the reports on groups of both kinds ask `timing_faults` for values that
cannot be read; such a value counts as absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..config.problems import invalid
from ..model.names import PREFIX

PREEMPTION_DELAY = f"{PREFIX}preemption-delay-seconds"
"""How long the pods wait for a node before they may evict others."""
MIN_RUN = f"{PREFIX}min-run-seconds"
"""How long the pods run before they may be evicted for others."""
TIMING_ANNOTATIONS = frozenset({PREEMPTION_DELAY, MIN_RUN})

MOST_SECONDS = 2_147_483_647
"""The longest time: 68 years."""
NO_SECONDS = f"must be a whole number of seconds from 0 to {MOST_SECONDS}"


def seconds_in(key: str, annotations: Iterable[Mapping[str, str]]) -> int | None:
    """The seconds in the first of these annotations that has a valid value under the key; None if none has."""
    values = (_seconds(each[key]) for each in annotations if key in each)
    return next((seconds for seconds in values if seconds is not None), None)


def timing_faults(annotations: Mapping[str, str]) -> list[str]:
    """The problems with the values, a line for each, with its field."""
    return [
        invalid(f"metadata.annotations[{key}]", annotations[key], NO_SECONDS).text
        for key in sorted(TIMING_ANNOTATIONS & annotations.keys())
        if _seconds(annotations[key]) is None
    ]


def _seconds(text: str) -> int | None:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST_SECONDS))):
        return None
    seconds = int(text)
    return seconds if seconds <= MOST_SECONDS else None
