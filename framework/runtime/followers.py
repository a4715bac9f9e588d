"""The plugins that follow decisions: the engine notifies them of decisions that are final."""

from __future__ import annotations

from ..contract.decision import DecisionFollower, GroupDecision, PodDecision
from ..contract.status import Status
from ..model.pod_info import PodInfo
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins
from .subjects import GroupSubject, MembersSubject


class DecisionFollowers:
    """The followers of one profile. An exception of one follower is logged; the others are notified all the same."""

    def __init__(self, plugins: ProfilePlugins, calls: PluginCalls) -> None:
        self._followers = plugins.decision_followers
        self._of_pre_enqueue = plugins.pre_enqueue_followers
        self._calls = calls

    def add(self, follower: DecisionFollower) -> None:
        """Notify a further follower, which is no plugin of the profile, of decisions, but not of PreEnqueue."""
        self._followers = (*self._followers, follower)

    def __bool__(self) -> bool:
        """Whether any plugin follows decisions."""
        return bool(self._followers)

    def notify_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        """Notify the followers whether the pod was admitted to the queue."""
        for plugin in self._of_pre_enqueue:
            self._calls.notify(plugin, pod, plugin.on_pre_enqueue, pod, status)

    def notify_pod_decision(self, decision: PodDecision) -> None:
        """Notify the followers of the result of a pod's scheduling cycle."""
        for plugin in self._followers:
            self._calls.notify(plugin, decision.pod, plugin.on_pod_decision, decision)

    def notify_pod_released(self, decision: PodDecision) -> None:
        """Notify the followers that a pod gave up the node that was reserved for it."""
        for plugin in self._followers:
            self._calls.notify(plugin, decision.pod, plugin.on_pod_released, decision)

    def notify_group_decision(self, decision: GroupDecision) -> None:
        """Notify the followers of the result of a group's trial."""
        about = MembersSubject(GroupSubject(decision.group), decision.waiting)
        for plugin in self._followers:
            self._calls.notify(plugin, about, plugin.on_group_decision, decision)
