"""Groups that workloads need: what a plugin that follows workloads says about them, and what the process then does.

The plugin decides which pods wait for such a group; it writes nothing. `WorkloadGroupController`
(`operator/podgroups/workload_groups.py`) creates the groups and keeps their sizes. Groups are named as in the books:
`namespace/name`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from ..contract.plugin import Args, Plugin
from ..model.meta import OwnerReference


@dataclass(frozen=True, slots=True)
class WorkloadGroup:
    """A group that is to be created.

    Attributes:
        size: the number of pods that it needs.
        owner: the workload that controls it, and with which it is deleted.
        priority_class_name: the priority class of the workload's pods; "" for the default one.
    """

    size: int
    owner: OwnerReference
    priority_class_name: str = ""


class WorkloadGroups(ABC):
    """The groups that workloads need. All methods are pure but `subscribe`, and fast."""

    @abstractmethod
    def preference(self, api_group: str) -> int:
        """The order in which API groups of PodGroups are tried, until the API serves one: 0 for the first."""

    @abstractmethod
    def subscribe(self, reader: Callable[[str], None]) -> None:
        """`reader` is called with a group that pods wait for, or that may need another size; it must not block."""

    @abstractmethod
    def size(self, group: str) -> int | None:
        """The number of pods that an existing group has to need; None to leave the group alone."""

    @abstractmethod
    def to_create(self, group: str) -> WorkloadGroup | None:
        """The group if pods wait for it; None if none do, or if it cannot be created yet."""


class WorkloadGroupPlugin(Plugin[Args]):
    """A plugin that knows the groups that workloads need."""

    @property
    @abstractmethod
    def workload_groups(self) -> WorkloadGroups:
        """The groups, the same object for the plugins of all profiles."""
