"""Groups of pods that are placed together, and plugins that follow what happens in the cluster.

At most one plugin of a profile is a GroupPlugin. The queue then keeps the waiting members of a group in one entry, and
the gang cycle places what the group still lacks as a transaction. The words are kube-scheduler's where it has them.
"""

from __future__ import annotations

from abc import abstractmethod

from ..model.pod_info import PodInfo
from .plugin import Args, Plugin
from .status import Status


class GroupPlugin(Plugin[Args]):
    """Knows which pods belong together and how many of them must be placed at once."""

    @abstractmethod
    def group_of(self, pod: PodInfo) -> str | None:
        """The id of the group that `pod` is to be tried with; None to try it by itself.

        Called whenever the pod enters the queue. The answer may change over time.
        """

    @abstractmethod
    def missing(self, group: str) -> int:
        """How many more members must get a place for the group to have its quorum; 0 or less when it has it.

        When it has it, members are placed each on its own.
        """

    @abstractmethod
    def reject_group(self, group: str, cause: Status, *, placed: int, missing: int) -> Status:
        """The one status that all members get when `placed` of them fit but `missing` had to.

        `cause` is the status of the first member that did not fit; one that names no plugin is PENDING and says that
        too few members were there to be tried. Pure, as deciding is: what follows from it is done in
        `DecisionFollower.on_group_decision`.
        """


class PodFollower(Plugin[Args]):
    """Follows all pods of the cluster that have not ended, whoever schedules them."""

    @abstractmethod
    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod came (`old` is None), changed, or went (`new` is None). Called before the queue hears of it."""

    def on_assumed_pod_expired(self, pod: PodInfo) -> None:
        """A pod that was bound was never reported on its node, and is not counted there any more."""


class ObjectFollower(Plugin[Args]):
    """Follows the objects of the kinds it declared in `watches`."""

    @abstractmethod
    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """An object came (`old` is None), changed, or went (`new` is None). Called before the queue hears of it."""
