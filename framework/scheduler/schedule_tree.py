"""The decision on a tree of groups: which members are placed, and which reason each of its groups and pods gets.

The group cycle calls it and carries the decision out: it reserves, permits and binds the members that are placed
together. A part that does not fit keeps waiting while the others start, as long as the groups above it have enough
parts without it. Otherwise no part starts, and every part gets the reason of the highest group that has too few.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..contract.decision import GroupDecision, PodDecision
from ..contract.group_tree import Part
from ..contract.pod_group import with_preemption
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from ..runtime.attempt_state import AttemptState
from ..runtime.group_calls import GroupCalls
from ..work import checkpoint
from .attempt import Attempt
from .group_post_filter import PlaceTogether, PostFiltered, Tried
from .tree_trial import PartTrial, TreeTrials

Help = Callable[[AttemptState, PlaceTogether], PostFiltered]
"""Asks PodGroupPostFilter, which is given notes to write to and a way to try the tree."""
Alone = Callable[[Sequence[Attempt], Sequence[PodDecision]], list[PodDecision]]
"""Decides for one of each kind of pods of which none was tried, see `GroupTrials.alone`."""


@dataclass(frozen=True, slots=True)
class TreeOutcome:
    """The result of trying a tree.

    Attributes:
        placed: who is to be placed, all or none.
        failed: the others, each with its status.
        decision: for those that follow decisions.
    """

    placed: Sequence[Attempt]
    failed: Sequence[Attempt]
    decision: GroupDecision


class TreeCycle:
    """Decides for trees."""

    def __init__(self, trials: TreeTrials, alone: Alone) -> None:
        self._trials = trials
        self._alone = alone

    def decide(
        self, plugin: GroupCalls, group: str, tree: Part, attempts: Sequence[Attempt], *, help_: Help
    ) -> TreeOutcome:
        """Try the tree, and others' eviction where it does not fit for lack of capacity."""
        trial = self._trials.run(plugin, tree, attempts)
        tried = [attempt for leaf in trial.leaves() for attempt in leaf.tried]
        members = []
        for attempt in tried:
            members.append(attempt.decision())
            checkpoint()
        refusals = [attempt.status for attempt in tried if attempt.status is not None]
        refused = trial.error or _refused(plugin, trial, anyone=bool(trial.placed))
        notes, helped = AttemptState(), PostFiltered()
        if refused is not None and refused.code is Code.UNSCHEDULABLE:

            def place(copies: Sequence[Attempt]) -> Tried:
                found = self._trials.run(plugin, tree, copies)
                if found.fits and found.placed:
                    return found.placed
                return found.error or _refused(plugin, found, anyone=False) or Status.unschedulable()

            helped = help_(notes, place)
        told: dict[str, Status | None] = {}
        _tell(plugin, tree, trial, refused, told=told)
        parts = {key: _with_help(status, helped) for key, status in told.items()}
        waiting = tuple(attempt.pod for attempt in attempts)
        waiting_in: defaultdict[str, list[PodInfo]] = defaultdict(list)
        for pod in waiting:
            waiting_in[plugin.part_of(pod)].append(pod)
        untried = [] if refused is None else self._alone(attempts, members)
        decision = GroupDecision(
            plugin.name,
            group,
            None if refused is None else _with_help(refused.by(plugin.name), helped),
            None if refused is None else next(iter(refusals), Status.pending()),
            len(trial.placed),
            max(1, tree.least),
            members,
            waiting,
            trial.shortage.no_domain if trial.shortage is not None else None,
            notes,
            helped.message,
            parts,
            tree,
            waiting_in,
            untried,
        )
        placed = trial.placed if refused is None else ()
        to_untried = parts if plugin.terse else told
        failed = self._fail(plugin, trial, parts, to_untried, attempts=attempts, placed=placed, helped=helped)
        return TreeOutcome(placed, failed, decision)

    def _fail(
        self,
        plugin: GroupCalls,
        trial: PartTrial,
        told: Mapping[str, Status | None],
        to_untried: Mapping[str, Status | None],
        *,
        attempts: Sequence[Attempt],
        placed: Sequence[Attempt],
        helped: PostFiltered,
    ) -> list[Attempt]:
        """Tell all who are not placed why: those that were tried what their leaf is `told`, others `to_untried`."""
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
            status = (told if had_node or attempt.status is not None else to_untried).get(key)
            if status is not None:
                attempt.status = plugin.reject_member(
                    attempt.pod, status.by(plugin.name), attempt.status, placed=had_node
                )
            attempt.node_name = ""
            attempt.rejectors, attempt.pending = set(rejectors), set(pending)
            if helped.nominations is not None:
                attempt.nominated = helped.nominations.get(attempt.pod.uid, "")
            checkpoint()
        return failed


def _refused(plugin: GroupCalls, trial: PartTrial, *, anyone: bool) -> Status | None:
    """Why the tree is not placed; also one that has what it needs is not, when none of those that wait found a node."""
    if trial.shortage is not None:
        return plugin.reject_part(trial.part, trial.shortage)
    return None if anyone else plugin.reject_part(trial.part, None)


def _tell(
    plugin: GroupCalls, part: Part, trial: PartTrial | None, above: Status | None, *, told: dict[str, Status | None]
) -> None:
    """The message for a part and those in it: what it lacks itself, else what the group that it belongs to lacks."""
    status = above
    if trial is not None and trial.shortage is not None and not (above is not None and not above.rejected):
        status = plugin.reject_part(part, trial.shortage)
    if part.parts is None:
        told[part.key] = status
    trials = {each.part.key: each for each in trial.parts} if trial is not None else {}
    for each in part.parts or ():
        _tell(plugin, each, trials.get(each.key), status, told=told)


def _with_help(status: Status | None, helped: PostFiltered) -> Status | None:
    if status is None or not helped.message:
        return status
    return Status(status.code, (with_preemption(status.message, helped.message),), status.plugin)
