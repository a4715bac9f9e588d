"""Reports of plugins that reserve capacity: how much is reserved, and, in a rehearsal, when waiting pods start.

The process shows the shares as metrics; `simulate` and `why` print the starts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .plugin import Args, Plugin


@dataclass(frozen=True, slots=True)
class Start:
    """When a pod or group starts at the latest once capacity is reserved for it.

    Attributes:
        waiting: the `namespace/name` of the pod, of the PodGroup, or of the CompositePodGroup.
        group: whether it is a group.
        by: when it starts at the latest, as the API writes times.
        after: the pods that have to end before, the first to end first.
        composite: whether it is a CompositePodGroup.
    """

    waiting: str
    group: bool
    by: str
    after: Sequence[str]
    composite: bool = False


class StartForecaster(Plugin[Args]):
    """Follows the decisions of a rehearsal and says when pods that were rejected for lack of capacity start.

    It changes no decision. What it knows it keeps in `Handle.shared`, so the plugin of any profile answers for all.
    """

    @abstractmethod
    def starts(self) -> Sequence[Start]:
        """The most important first, by what runs now; those of which nothing can be said are left out."""


class CapacityReserver(Plugin[Args]):
    """Reserves capacity on nodes.

    Attributes:
        forecaster: a plugin that rehearsals run beside it in every profile; None for none.
    """

    forecaster: ClassVar[type[StartForecaster[Any]] | None] = None

    @property
    @abstractmethod
    def reserves(self) -> bool:
        """Whether it reserves any capacity as it is configured."""

    @abstractmethod
    def reserved_shares(self) -> Mapping[str, float]:
        """The share of what all nodes offer that is reserved by all profiles, 0 to 1, by resource; no zeros."""
