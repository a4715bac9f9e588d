"""Topology: in which domain the members of a group have to be, or should be, together.

A `GroupPlugin` declares it for a group (`GroupPlugin.topology`), and `GroupScheduler` places the members accordingly. A
domain of a level consists of all nodes with the same values of its label and of the labels of all wider levels; a node
without one of these labels is in no domain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from ..model.pod_info import PodInfo

_INDEX_LABELS = ("batch.kubernetes.io/job-completion-index", "apps.kubernetes.io/pod-index")
_NUMBERS = re.compile(r"\d+")
_DIGITS = 20


class Favour(Enum):
    """The choice among several domains that can take the group."""

    TIGHTEST = "tightest"
    """The one in which least capacity is left over, so that large blocks stay for large groups."""
    PLACEMENT_SCORE = "placement score"
    """The one that the PlacementScore plugins rank first, as kube-scheduler does; of equals any."""


@dataclass(frozen=True, slots=True)
class Topology:
    """Where members have to be.

    Attributes:
        levels: label keys, the widest first.
        required: how many of the levels, counted from the widest, must hold. The others are preferences: where no
            domain of the narrowest level can take the group, the next wider one is tried, down to `required`.
        favour: which domain of a level is taken.
        slice_size: members in one slice; 0 for no slices. What is left over makes one more, smaller slice.
        slice_level: the label key of the parts of a domain, each of which takes whole slices.
    """

    levels: tuple[str, ...]
    required: int
    favour: Favour = Favour.TIGHTEST
    slice_size: int = 0
    slice_level: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """All label keys that domains, or the parts of a domain, are made of."""
        return (*self.levels, self.slice_level) if self.slice_level else self.levels


@dataclass(frozen=True, slots=True)
class NoDomain:
    """The result of a search for a domain when none could take the group.

    Attributes:
        levels: the labels whose domains were searched, the widest first; if there is no domain, the labels that no node
            has, or that no node has together.
        domains: the number of domains that could be tried.
        best: the values of the labels in the domain that comes closest; empty if there is no domain.
        capacity: an upper bound of the members that fit there; None if no plugin counts capacity.
        slices: for users, the domain in which each slice has to be; "" without slices.
        pinned: whether placed members leave only one domain.
    """

    levels: Sequence[str]
    domains: int
    best: Sequence[str] = ()
    capacity: int | None = None
    slices: str = ""
    pinned: bool = False

    @property
    def where(self) -> str:
        """The best domain, for users: `zone=a, rack=r7`."""
        return ", ".join(f"{key}={value}" for key, value in zip(self.levels, self.best, strict=False))

    @property
    def absent(self) -> str:
        """If there is no domain, the labels that no node has, for users: `the labels zone and rack`."""
        *others, last = self.levels
        return f"the labels {', '.join(others)} and {last}" if others else f"the label {last}"


def rank(pod: PodInfo) -> tuple[int, str]:
    """Members of neighbouring ranks share a slice: by the index that their controller gave them, else by name.

    Numbers in names are compared as numbers.
    """
    index = next((text for label in _INDEX_LABELS if (text := pod.labels.get(label, "")).isdecimal()), "")
    return int(index or 0), _NUMBERS.sub(lambda found: found[0].zfill(_DIGITS), pod.name)
