"""The decision on a tree of groups: which members are placed, and which reason each of its groups and pods gets.

`TreeCycle` decides, and `GroupScheduler`, which calls it, carries the decision out: it reserves, permits and binds the
members that are placed together. A part that does not fit keeps waiting while the others start, as long as the groups
above it have enough parts without it. Otherwise no part starts, and every part gets the reason of the highest group
that has too few.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ..contract.decision import GroupDecision
from ..contract.group_preemption import with_preemption
from ..contract.group_tree import Part
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from ..runtime.attempt_state import AttemptState
from ..runtime.group_calls import GroupCalls
from ..work import checkpoint
from .attempt import Attempt
from .consultations import should_ask_again
from .group_consultation import BEING_ASKED
from .group_post_filter import GroupPostFilter, PostFiltered, Together
from .group_trial import GroupTrials
from .preemption_trial import Tried
from .tree_trial import PartTrial, TreeTrials


@dataclass(frozen=True, slots=True)
class TreeOutcome:
    """The result of trying a tree.

    Attributes:
        placed: the attempts to be placed, all or none.
        failed: the other attempts, each with its status.
        decision: the decision, for plugins that follow decisions.
        awaits_victims: whether pods are evicted for the failed members.
        extender_status: set if the result is void, as in `PostFiltered`.
    """

    placed: Sequence[Attempt]
    failed: Sequence[Attempt]
    decision: GroupDecision
    awaits_victims: bool
    extender_status: Status | None


class TreeCycle:
    """Decides for trees of groups."""

    def __init__(self, trials: TreeTrials, group_trials: GroupTrials, post_filter: GroupPostFilter) -> None:
        self._trials = trials
        self._group_trials = group_trials
        self._post_filter = post_filter

    def decide(self, plugin: GroupCalls, group: str, tree: Part, attempts: Sequence[Attempt]) -> TreeOutcome:
        """Try the tree; if it lacks capacity, try the eviction of other pods. Raises Failed."""
        trial, post_filtered = self._try(plugin, tree, attempts)
        tried = [attempt for leaf in trial.leaves() for attempt in leaf.tried]
        members = []
        for attempt in tried:
            members.append(attempt.decision())
            checkpoint()
        statuses = [attempt.status for attempt in tried if attempt.status is not None]
        rejection = trial.error or _why_rejected(plugin, trial, anyone=bool(trial.placed))
        condition_reason = next((each.condition_reason for each in statuses if each.condition_reason), "")
        rejection = None if rejection is None else rejection.with_condition_reason(condition_reason)
        notes = AttemptState()
        asked = post_filtered.extender_status is not None
        if rejection is not None and rejection.code is Code.UNSCHEDULABLE and not asked:
            post_filtered = self._post_filter.run(
                plugin,
                group,
                attempts,
                len(attempts),
                reason=condition_reason,
                notes=notes,
                together=self._together(plugin, tree, rejection),
            )
            rejection = post_filtered.error or rejection
        reasons: dict[str, Status | None] = {}
        _collect_reasons(plugin, tree, trial, rejection, reasons=reasons)
        for key, status in reasons.items():
            reasons[key] = None if status is None else status.with_condition_reason(condition_reason)
        parts = {key: _with_message(status, post_filtered) for key, status in reasons.items()}
        waiting = tuple(attempt.pod for attempt in attempts)
        waiting_in: defaultdict[str, list[PodInfo]] = defaultdict(list)
        for pod in waiting:
            waiting_in[plugin.part_of(pod)].append(pod)
        untried = [] if rejection is None else self._group_trials.alone(attempts, members)
        decision = GroupDecision(
            plugin.name,
            group,
            None if rejection is None else _with_message(rejection.by(plugin.name), post_filtered),
            None if rejection is None else next(iter(statuses), Status.pending()),
            len(trial.placed),
            max(1, tree.least),
            members,
            waiting,
            trial.shortage.no_domain if trial.shortage is not None else None,
            notes,
            post_filtered.message,
            parts,
            tree,
            waiting_in,
            untried,
        )
        placed = trial.placed if rejection is None else ()
        to_untried = parts if plugin.terse else reasons
        failed = self._fail(
            plugin, trial, parts, to_untried, attempts=attempts, placed=placed, post_filtered=post_filtered
        )
        return TreeOutcome(placed, failed, decision, post_filtered.evicts, post_filtered.extender_status)

    def _together(self, plugin: GroupCalls, tree: Part, rejection: Status) -> Together:
        """How the members are tried together, after this rejection of the tree."""
        return Together(
            partial(self._try_copies, plugin, tree),
            partial(self._trials.selections, plugin, tree),
            why_rejected=lambda: rejection,
        )

    def _try_copies(self, plugin: GroupCalls, tree: Part, copies: Sequence[Attempt]) -> Tried:
        """The members that fit, or why the tree does not."""
        found = self._trials.run(plugin, tree, copies)
        if found.fits and found.placed:
            return found.placed
        return found.error or _why_rejected(plugin, found, anyone=False) or Status.unschedulable()

    def _try(self, plugin: GroupCalls, tree: Part, attempts: Sequence[Attempt]) -> tuple[PartTrial, PostFiltered]:
        """The trial, and whether its result is void because extenders have to be asked again about members."""
        trial = self._trials.run(plugin, tree, attempts)
        if trial.fits:
            return trial, PostFiltered()
        if trial.error is not None:
            return trial, PostFiltered({})
        placed = sum(1 for leaf in trial.leaves() for attempt in leaf.tried if attempt.status is None)
        if should_ask_again(attempts, placed):
            return trial, PostFiltered(extender_status=BEING_ASKED)
        if any(attempt.state.nodes_to_ask for attempt in attempts):
            trial = self._trials.run(plugin, tree, attempts)
        return trial, PostFiltered({} if trial.error is not None else None)

    def _fail(
        self,
        plugin: GroupCalls,
        trial: PartTrial,
        reasons: Mapping[str, Status | None],
        to_untried: Mapping[str, Status | None],
        *,
        attempts: Sequence[Attempt],
        placed: Sequence[Attempt],
        post_filtered: PostFiltered,
    ) -> list[Attempt]:
        """The attempts that are not placed, with their statuses.

        Members that were tried get the status of their leaf in `reasons`, the others that in `to_untried`. An error of
        the tree is that of all members: kube-scheduler keeps no results of the parts then.
        """
        going = {attempt.pod.uid for attempt in placed}
        unfit = {leaf.part.key: {each.pod.uid for each in leaf.tried} for leaf in trial.leaves() if not leaf.fits}
        failed = [attempt for attempt in attempts if attempt.pod.uid not in going]
        rejectors = set().union(*(attempt.rejectors for attempt in failed))
        if rejectors or not any(leaf.tried for leaf in trial.leaves()):
            rejectors.add(plugin.name)
        pending = set().union(*(attempt.pending for attempt in failed))
        for attempt in failed:
            key = plugin.part_of(attempt.pod)
            had_node = bool(attempt.node_name) and attempt.pod.uid in unfit.get(key, ())
            tried = had_node or (attempt.status is not None and not attempt.has_no_domain)
            status = (reasons if tried else to_untried).get(key)
            if status is not None and not status.rejected:
                attempt.status = status.by(plugin.name)
            elif status is not None:
                own = plugin.reject_member(attempt.pod, status.by(plugin.name), attempt.own_status, placed=had_node)
                attempt.status = own.with_condition_reason(status.condition_reason)
            attempt.node_name = ""
            attempt.rejectors, attempt.pending = set(rejectors), set(pending)
            if post_filtered.nominations is not None:
                attempt.nominated = post_filtered.nominations.get(attempt.pod.uid, "")
            checkpoint()
        return failed


def _why_rejected(plugin: GroupCalls, trial: PartTrial, *, anyone: bool) -> Status | None:
    """The reason why the tree is not placed; None if it is.

    A tree that has its quorum is not placed either if no waiting member (`anyone`) found a node.
    """
    if trial.shortage is not None:
        return plugin.reject_part(trial.part, trial.shortage)
    return None if anyone else plugin.reject_part(trial.part, None)


def _collect_reasons(
    plugin: GroupCalls, part: Part, trial: PartTrial | None, above: Status | None, *, reasons: dict[str, Status | None]
) -> None:
    """Collect the status of each leaf of a part: what the part itself lacks, else what the group above it lacks.

    The parts of a group for which there is no domain get the reason of that group: kube-scheduler does not try them.
    """
    status = above
    if trial is not None and trial.shortage is not None and not (above is not None and not above.rejected):
        status = plugin.reject_part(part, trial.shortage)
    if part.parts is None:
        reasons[part.key] = status
    trials = {} if trial is None or trial.has_no_domain else {each.part.key: each for each in trial.parts}
    for each in part.parts or ():
        _collect_reasons(plugin, each, trials.get(each.key), status, reasons=reasons)


def _with_message(status: Status | None, post_filtered: PostFiltered) -> Status | None:
    if status is None or not post_filtered.message:
        return status
    return status.with_reasons(with_preemption(status.message, post_filtered.message))
