"""The plugins that follow decisions: the engine tells them of decisions that are final."""

from __future__ import annotations

from ..contract.decision import DecisionFollower, GroupDecision, PodDecision
from ..contract.status import Status
from ..model.pod_info import PodInfo
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins
from .watch import MembersSubject


class DecisionFollowers:
    """The followers of one profile. What one raises is logged, and keeps no other from being told."""

    def __init__(self, plugins: ProfilePlugins, calls: PluginCalls) -> None:
        self._followers = plugins.decision_followers
        self._of_pre_enqueue = plugins.pre_enqueue_followers
        self._calls = calls

    def add(self, follower: DecisionFollower) -> None:
        """Tell this one of decisions from now on, too; it is no plugin of the profile, and not told of PreEnqueue."""
        self._followers = (*self._followers, follower)

    def __bool__(self) -> bool:
        """Whether any plugin follows decisions."""
        return bool(self._followers)

    def tell_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        """Tell them whether the pod was let into the queue."""
        for plugin in self._of_pre_enqueue:
            self._calls.tell(plugin, pod, plugin.on_pre_enqueue, pod, status)

    def tell_pod_decision(self, decision: PodDecision) -> None:
        """Tell them what the scheduling cycle of a pod came to."""
        for plugin in self._followers:
            self._calls.tell(plugin, decision.pod, plugin.on_pod_decision, decision)

    def tell_pod_released(self, decision: PodDecision) -> None:
        """Tell them that a pod gave back the node that was reserved for it."""
        for plugin in self._followers:
            self._calls.tell(plugin, decision.pod, plugin.on_pod_released, decision)

    def tell_group_decision(self, decision: GroupDecision) -> None:
        """Tell them what the trial of a group came to."""
        about = MembersSubject(decision.waiting)
        for plugin in self._followers:
            self._calls.tell(plugin, about, plugin.on_group_decision, decision)
