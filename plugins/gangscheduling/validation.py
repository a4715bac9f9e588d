"""Whether pods may form one group: kube-scheduler's rules (`validatePodGroup`), checked before members are tried."""

from __future__ import annotations

from collections.abc import Iterable

from muster.framework.model.pod_info import PodInfo

from . import messages
from .api import PREEMPT_LOWER_PRIORITY, GroupSpec


def fault(group: GroupSpec, waiting: Iterable[PodInfo], scheduled: Iterable[PodInfo]) -> str | None:
    """What is wrong with the first member that does not go with the group; None when all do.

    `waiting` are those that are to be tried, in their order; the first of them sets the schedulerName.
    """
    pods = [*waiting, *scheduled]
    if not pods:
        return None
    first = pods[0].pod.spec.scheduler_name
    priority, policy = group.priority or 0, group.preemption_policy
    for pod in pods:
        spec = pod.pod.spec
        own = spec.preemption_policy or PREEMPT_LOWER_PRIORITY
        if spec.scheduler_name != first:
            return messages.other_scheduler(spec.scheduler_name, first)
        if pod.priority != priority:
            return messages.other_priority(pod.priority, priority)
        if group.preemption_policy is not None and own != group.preemption_policy:
            return messages.other_preemption_policy(own, group.preemption_policy)
        policy = policy or own
        if own != policy:
            return messages.unlike_preemption_policies(own, policy)
    return None
