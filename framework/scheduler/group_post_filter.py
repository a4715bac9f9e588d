"""PodGroupPostFilter: the plugins that look for pods to evict when a group does not fit.

The cycles of groups and of trees run it when a trial failed for lack of capacity. It changes nothing: the plugins
carry out the evictions when they follow the decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..contract.group_preemption import PodGroupInfo
from ..contract.status import Code, Status
from ..contract.topology import Favour
from ..model.pod import UNSCHEDULABLE
from ..runtime.attempt_state import AttemptState
from ..runtime.framework import Framework
from ..runtime.group_calls import GroupCalls
from .attempt import Attempt
from .engine_services import EngineServices
from .group_consultation import GroupConsultation
from .preemption_trial import PreemptionTrial, Select, Tried, TryTogether, WhyRejected, no_selections

PREFIX = "pod group preemption: "


@dataclass(frozen=True, slots=True)
class PostFiltered:
    """The result of PodGroupPostFilter.

    Attributes:
        nominations: by UID, the node that each member is nominated to; other members lose theirs. None to leave all
            nominations as they are.
        message: the message for users; "" when no plugin was asked.
        evicts: whether a plugin evicts pods for the group, now or since an earlier attempt.
        extender_status: set if the result is void: a rejection if extenders have to be asked first, an ERROR if one
            failed.
        error: the ERROR of a plugin, if it fails the whole group.
    """

    nominations: Mapping[str, str] | None = None
    message: str = ""
    evicts: bool = False
    extender_status: Status | None = None
    error: Status | None = None


@dataclass(frozen=True, slots=True)
class Together:
    """How the members of a group are tried together.

    Attributes:
        try_: tries some of them.
        select: the selections of them that suffice; none for a group that has to place all that it lacks.
        why_rejected: returns why too few of them fit without evictions, as `try_` would.
    """

    try_: TryTogether
    select: Select = no_selections
    why_rejected: WhyRejected = Status.unschedulable


class GroupPostFilter:
    """Runs the PodGroupPostFilter plugins of all profiles."""

    def __init__(self, services: EngineServices) -> None:
        self._services = services

    def run(
        self,
        plugin: GroupCalls,
        group: str,
        attempts: Sequence[Attempt],
        missing: int,
        *,
        reason: str,
        notes: AttemptState,
        together: Together,
    ) -> PostFiltered:
        """Let the plugins look for evictions with which `missing` of the members fit. They write to `notes`.

        `reason` is that of the members' conditions unless pods are evicted; empty for Unschedulable.
        Raises Failed when the group plugin fails.
        """
        framework = attempts[0].framework
        if not framework.plugins.pod_group_post_filter:
            return PostFiltered()
        waiting = tuple(attempt.pod for attempt in attempts)
        info = PodGroupInfo(
            key=group,
            uid=plugin.uid(group),
            members=waiting,
            missing=missing,
            priority=plugin.preemption_priority(group, waiting),
            may_preempt=plugin.may_preempt(group, waiting),
            reason=reason or UNSCHEDULABLE,
            terse=plugin.terse,
            all_that_fit=plugin.preempts_as(waiting[0]) is not None,
            chooses_domain=_chooses_domain(plugin, group),
        )
        algorithm = self._services.algorithms[framework.name]
        consultation = GroupConsultation(algorithm.snapshot, attempts, self._services.ports.extenders)
        trial = PreemptionTrial(
            algorithm,
            self._services.nominator,
            attempts,
            together.try_ if info.all_that_fit else partial(_as_many, together.try_, missing),
            consultation=consultation,
            select=together.select,
            why_rejected=together.why_rejected,
        )
        found = _run_plugins(framework, notes, info, trial, fails_as_one=plugin.fails_as_one)
        return replace(found, extender_status=consultation.extender_status)


def _chooses_domain(plugin: GroupCalls, group: str) -> bool:
    """Whether the group, or a part of it, still has to get a domain, and gets kube-scheduler's choice."""
    tree = plugin.tree(group)
    topologies = tree.topologies() if tree is not None else filter(None, (plugin.topology(group),))
    if all(topology.favour is not Favour.PLACEMENT_SCORE for topology in topologies):
        return False
    return tree is not None or not plugin.placed_members(group)


def _as_many(try_together: TryTogether, missing: int, attempts: Sequence[Attempt]) -> Tried:
    """As many of the members that fit as the group lacks."""
    found = try_together(attempts)
    return found if isinstance(found, Status) else found[:missing]


def _run_plugins(
    framework: Framework, notes: AttemptState, group: PodGroupInfo, trial: PreemptionTrial, *, fails_as_one: bool
) -> PostFiltered:
    """Call the plugins in order until one does not answer UNSCHEDULABLE (upstream: `RunPodGroupPostFilterPlugins`)."""
    reasons: list[str] = []
    nominations: Mapping[str, str] | None = None
    evicts = False
    for plugin in framework.plugins.pod_group_post_filter:
        nominated, status = framework.calls.post_filter_group(plugin, notes, group, trial)
        nominations = nominated if nominated is not None else nominations
        if status is not None and status.code is Code.ERROR:
            if fails_as_one:
                return PostFiltered({}, error=status)
            reasons.append(status.message)
            break
        reasons += [PREFIX + reason for reason in (status.reasons if status is not None else ())]
        if status is None or status.code is not Code.UNSCHEDULABLE:
            evicts = status is None or status.code is Code.SUCCESS
            break
    return PostFiltered(nominations, ", ".join(reasons), evicts)
