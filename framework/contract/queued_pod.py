"""A pod in the scheduling queue, with the history of its attempts."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.pod_info import PodInfo


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod that waits to be scheduled. The queue owns and changes it; everyone else reads.

    Attributes:
        info: the pod as last seen.
        timestamp: when it last entered the queue, seconds on the engine's clock.
        first_seen: when it entered the queue for the first time.
        attempts: scheduling attempts so far.
    """

    info: PodInfo
    timestamp: float
    first_seen: float
    attempts: int = 0
