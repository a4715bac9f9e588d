"""Preemption for members that fit nowhere beyond the quorum of their group, where the group preempts as a whole.

kube-scheduler tries such members in a cycle of their group. If none of them finds a node, PodGroupPostFilter looks for
evictions, on all nodes, with which as many of them as possible fit (upstream: `podGroupCycle`). `GroupScheduler` asks
for members that it has tried one by one, `SchedulingCycle` for a member that is tried alone. Members about which
extenders have a say preempt as pods without a group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..contract.eviction import EvictionWait
from ..contract.status import Code
from ..runtime.answers import Failed
from ..runtime.group_calls import GroupCalls
from .algorithm import Algorithm, Feasible
from .attempt import Attempt
from .group_post_filter import GroupPostFilter, Together
from .preemption_trial import TryTogether


class LaterMembers:
    """Asks PodGroupPostFilter about later members of groups of all profiles."""

    def __init__(self, algorithms: Mapping[str, Algorithm], post_filter: GroupPostFilter) -> None:
        self._algorithms = algorithms
        self._post_filter = post_filter

    def preempt(
        self, plugin: GroupCalls, group: str, attempts: Sequence[Attempt], try_together: TryTogether, *, reason: str
    ) -> bool:
        """Nominate those of the members that fit after evictions; returns whether pods are evicted for them.

        The notes about the evictions are written to the state of the first member. `reason` is that of the members'
        conditions. Raises Failed when a plugin fails.
        """
        notes = attempts[0].state
        found = self._post_filter.run(
            plugin, group, attempts, 1, reason=reason, notes=notes, together=Together(try_together)
        )
        wait = notes.get(EvictionWait.KEY)
        for attempt in attempts:
            if isinstance(wait, EvictionWait):
                attempt.state.write(EvictionWait.KEY, wait)
            if found.nominations is not None:
                attempt.nominated = found.nominations.get(attempt.pod.uid, "")
                attempt.no_node = attempt.no_node and not attempt.nominated
        if found.error is not None:
            raise Failed(found.error)
        return found.evicts

    def may_be_helped(self, attempt: Attempt, found: Feasible) -> bool:
        """Whether evictions may help a member that is tried alone.

        If its filters read no pods on other nodes, PostFilter for the pod by itself decides it: evictions on one node
        suffice then, and the results on nodes that have not changed are known. So members that no eviction helps cost
        no trial of the group.
        """
        if attempt.framework.filtering.depends_on_cluster(attempt.state):
            return True
        state = attempt.state.clone()
        nominated, _ = self._algorithms[attempt.profile].post_filter(state, attempt.pod, found)
        return nominated != "" or isinstance(state.get(EvictionWait.KEY), EvictionWait)


def preempting_group(attempt: Attempt) -> tuple[GroupCalls, str] | None:
    """The group as which a pod preempts, with its plugin; None for a pod that preempts by itself. Raises Failed."""
    return None if attempt.state.consultation is not None else attempt.framework.groups.preempting(attempt.pod)


def found_no_node(attempt: Attempt) -> bool:
    """Whether the search found no node for the pod, which does not just wait for something else than capacity."""
    status = attempt.status
    return status is not None and status.rejected and status.code is not Code.PENDING and not attempt.node_name
