"""The moves for which something that waits starts: the search for the fewest pods.

`planner` calls it for one pod or group at a time. The sets that `choices` names are tried by the engine, the smallest
first, so that the first success has the fewest pods. After a number of trials the search ends, and what it finds later
than a set that was left out may not be the fewest; it says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from muster.framework.model.node import Node
from muster.framework.model.pod_info import PodInfo
from muster.operator.simulate.wording import counted

from .bundles import Chosen, pods_of
from .capacity import Destinations, FreeCapacity, WaitingDemand, least_of_each
from .choices import MoveChoices
from .movable import MoveSurvey
from .proposal import MoveProposal
from .question import MOST_TRIALS, ClusterPicture, moves_of, pods_in
from .trial import MoveTrial
from .waiting import WaitingTarget

_MOST_PODS = 40
"""The pods that are moved for one aim."""
_MOST_OTHER_TRIALS = 80
"""The trials of sets of which the arithmetic does not need every pod."""


async def moves_to_start(
    picture: ClusterPicture, target: WaitingTarget, ahead: Sequence[WaitingTarget]
) -> MoveProposal | str:
    """The fewest moves for which the target starts, or why there are none. `ahead` are decided before it."""
    async with picture.trial(target, ahead) as trial:
        placements, open_nodes = await trial.now()
        left = [each for each in placements if not each.node]
        if len(placements) - len(left) >= target.missing:
            return "it fits without any move"
        if not any(each.lacks_nodes for each in left):
            return left[0].reason
        survey = picture.survey(trial, target)
        search = _Search(trial, target, survey)
        found = await search.run([node for node in trial.nodes if node.metadata.name in open_nodes])
    return found or f"{search.failure}; {left[0].reason}"


class _Search:
    """One search."""

    def __init__(self, trial: MoveTrial, target: WaitingTarget, survey: MoveSurvey) -> None:
        self._trial = trial
        self._target = target
        self._survey = survey
        self._left = MOST_TRIALS
        self._left_of_others = _MOST_OTHER_TRIALS
        self.failure = "no moves help"

    async def run(self, nodes: Sequence[Node]) -> MoveProposal | None:
        """The fewest moves that open `nodes` for the target; None if none are found."""
        free = self._trial.free()
        pods = [PodInfo(pod) for pod in self._trial.waiting]
        demand = WaitingDemand(least_of_each(pods), self._target.missing, self._areas(nodes))
        choices = MoveChoices(FreeCapacity(free, demand.each), demand, self._survey.units)
        destinations = Destinations(free)
        certain = True
        for weight in range(1, min(_MOST_PODS, sum(unit.weight for unit in self._survey.units)) + 1):
            for chosen, needed in sorted(choices.of_weight(weight), key=_order):
                if not (self._survey.permits(chosen) and destinations.may_take([*pods_of(chosen)])):
                    continue
                if not self._may_try(needed):
                    certain = False
                    break
                found = await self._tried(chosen, fewest=certain)
                if found is not None:
                    return found
            certain = certain and not choices.cut
            if not self._left:
                break
        if not certain:
            self.failure = f"no moves were found that help, in {counted(MOST_TRIALS - self._left, 'trial')}"
        return None

    def _may_try(self, needed: bool) -> bool:
        """Whether another set may be tried; counts it."""
        if not self._left or not (needed or self._left_of_others):
            return False
        self._left -= 1
        self._left_of_others -= not needed
        return True

    def _areas(self, nodes: Sequence[Node]) -> list[list[str]]:
        """The sets of nodes of which one has to take the whole target: the domains that it requires, or all nodes."""
        group = self._target.group
        topology = None if group is None else self._trial.topology_of(group)
        labels = () if topology is None else topology.levels[: topology.required]
        found: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for node in nodes:
            values = node.metadata.labels
            if all(label in values for label in labels):
                found[tuple(values[label] for label in labels)].append(node.metadata.name)
        return [*found.values()]

    async def _tried(self, chosen: Chosen, *, fewest: bool) -> MoveProposal | None:
        """The proposal to move these units, if it helps."""
        pods = pods_in(chosen)
        keep = await self._trial.nodes_without(pods)
        outcome = await self._trial.outcome(pods, keep) if keep else None
        if outcome is None:
            return None
        return MoveProposal(
            starts=self._target.name,
            group=bool(self._target.groups),
            started=outcome.started,
            label="",
            frees=(),
            moves=moves_of(chosen, outcome),
            keep=sorted(keep),
            fewest=fewest,
        )


def _order(choice: tuple[Chosen, bool]) -> tuple[bool, int, int]:
    """The sort key of sets of one weight: those that the arithmetic asks for first, then the least important pods."""
    chosen, needed = choice
    priorities = [placed.pod.priority for placed in pods_of(chosen)]
    return not needed, max(priorities), sum(priorities)
