"""How long a pod runs at most, if it says so: by `spec.activeDeadlineSeconds`, or by an annotation.

Reservations are planned with it, and `explain` looks ahead only if a pod on a node declares it.
"""

from __future__ import annotations

from math import inf

from .names import PREFIX
from .pod import Pod

RUN_SECONDS = f"{PREFIX}run-seconds"
"""Annotation of a pod: it runs for so many seconds at most."""
_LONGEST = 10
"""Digits of a number of seconds. More are centuries, at whose end no date can be named: that is never."""


def run_seconds(pod: Pod) -> float:
    """The longest run time of the pod; infinity when it declares none, or nothing that can be read."""
    deadline = pod.spec.active_deadline_seconds
    said = inf if deadline is None else deadline
    text = pod.metadata.annotations.get(RUN_SECONDS, "")
    if text and text.isascii() and text.isdigit() and len(text) <= _LONGEST:
        return min(said, int(text))
    return said


def says_its_end(pod: Pod) -> bool:
    """Whether it is on a node and says how long it runs."""
    return bool(pod.spec.node_name) and run_seconds(pod) < inf
