"""The moves for which whole nodes, or whole domains of a label, become free: the search for the fewest pods.

A node is free when no pods are left on it but those that belong to it, as a DaemonSet's do. `planner` calls this. The
engine tries sets of nodes or domains, those with the fewest pods first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.operator.simulate.wording import counted

from .bundles import pods_of
from .capacity import Destinations
from .movable import MovableUnit, MoveSurvey
from .proposal import DefragReport, MoveProposal, Unhelped
from .question import MOST_TRIALS, NODES, ClusterPicture, moves_of, pods_in
from .trial import MoveTrial

_MOST_SETS = 20_000
"""The sets of nodes or domains that are looked at."""


@dataclass(frozen=True, slots=True)
class NodeArea:
    """A node, or the nodes of a domain, with what has to be moved from it.

    Attributes:
        name: the node, or the value of the label.
        nodes: its nodes.
        units: what is moved so that they are free.
        blocked: why not all of their pods may be moved; "" if all may.
    """

    name: str
    nodes: frozenset[str]
    units: tuple[MovableUnit, ...]
    blocked: str

    @property
    def weight(self) -> int:
        """The number of pods that are moved."""
        return sum(unit.weight for unit in self.units)


async def moves_to_free(picture: ClusterPicture, label: str, count: int) -> DefragReport:
    """The fewest moves by which `count` nodes, or domains of a label, become free that are not free yet."""
    async with picture.trial(None) as trial:
        survey = picture.survey(trial, None)
        areas = areas_of(trial.nodes, trial.running, survey, "" if label == NODES else label)
        blocked = [Unhelped(area.name, area.blocked) for area in areas if area.blocked]
        open_ = sorted((area for area in areas if not area.blocked), key=lambda area: (area.weight, area.name))
        search = _Search(trial, survey, "" if label == NODES else label)
        found = await search.run(open_, count)
    if found is not None:
        return DefragReport(found)
    reasons = [*search.unhelped, *blocked]
    if count > 1 or not reasons:
        reasons.insert(0, Unhelped(label, _limit(label, trial.nodes, len(open_), count)))
    return DefragReport(None, reasons)


def _limit(label: str, nodes: Iterable[Node], most: int, count: int) -> str:
    """Why not `count` nodes or domains can be freed together, if `most` of them have only pods that may be moved."""
    if label != NODES and not any(label in node.metadata.labels for node in nodes):
        return "no node has this label"
    if most >= count:
        return f"no {count} can be freed together"
    return f"no more than {most} can be freed" if most else "nothing is left to be freed"


def areas_of(nodes: Iterable[Node], running: Iterable[Pod], survey: MoveSurvey, label: str) -> list[NodeArea]:
    """The nodes, or the domains of a label, that are not free, by name."""
    unit_of = {placed.pod.uid: unit for unit in survey.units for placed in unit.pods}
    names: defaultdict[str, list[str]] = defaultdict(list)
    for node in nodes:
        value = node.metadata.labels.get(label) if label else node.metadata.name
        if value is not None:
            names[value].append(node.metadata.name)
    pods: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in running:
        if pod.metadata.uid not in survey.node_bound:
            pods[pod.spec.node_name].append(pod)
    found = []
    for value, members in sorted(names.items()):
        own = [pod for node in members for pod in pods[node]]
        staying = [pod.metadata.key for pod in own if pod.metadata.uid not in unit_of]
        units = {unit_of[pod.metadata.uid].name: unit_of[pod.metadata.uid] for pod in own if not staying}
        blocked = ""
        if staying:
            more = f", and {counted(len(staying) - 1, 'more pod')}" if len(staying) > 1 else ""
            blocked = f"pod {min(staying)} stays: {survey.staying[min(staying)]}{more}"
        if own:
            found.append(NodeArea(value, frozenset(members), tuple(units.values()), blocked))
    return found


class _Search:
    """One search."""

    def __init__(self, trial: MoveTrial, survey: MoveSurvey, label: str) -> None:
        self._trial = trial
        self._survey = survey
        self._label = label
        self._destinations = Destinations(trial.free())
        self.unhelped: list[Unhelped] = []

    async def run(self, areas: Sequence[NodeArea], count: int) -> MoveProposal | None:
        """The fewest moves by which `count` of these areas become free; None if none are found."""
        left, certain = MOST_TRIALS, comb(len(areas), count) <= _MOST_SETS
        for chosen in _sets(areas, count):
            units = [*{unit.name: unit for area in chosen for unit in area.units}.values()]
            nodes = frozenset(node for area in chosen for node in area.nodes)
            if not self._survey.permits(units):
                self._note(chosen, "PodDisruptionBudgets do not let all of its pods go at once")
                continue
            if self._destinations.may_take([*pods_of(units)], nodes):
                if not left:
                    break
                left -= 1
                outcome = await self._trial.outcome(pods_in(units), nodes)
                if outcome is not None:
                    return MoveProposal(
                        starts="",
                        group=False,
                        started={},
                        label=self._label,
                        frees=[area.name for area in chosen],
                        moves=moves_of(units, outcome),
                        keep=sorted(nodes),
                        fewest=certain,
                    )
            self._note(chosen, "its pods do not fit elsewhere")
        return None

    def _note(self, chosen: Sequence[NodeArea], reason: str) -> None:
        """Record why an area does not become free, unless several were to become free together."""
        if len(chosen) == 1:
            self.unhelped.append(Unhelped(chosen[0].name, reason))


def _sets(areas: Sequence[NodeArea], count: int) -> Iterator[tuple[NodeArea, ...]]:
    """The sets of so many areas, those with the fewest pods first; if there are too many, those of the first areas."""
    some = len(areas)
    if count > some:  # `combinations` takes no number of any size
        return
    while some > count and comb(some, count) > _MOST_SETS:
        some -= 1
    yield from sorted(combinations(areas[:some], count), key=_weight)


def _weight(areas: Sequence[NodeArea]) -> int:
    units: dict[str, MovableUnit] = {unit.name: unit for area in areas for unit in area.units}
    return sum(unit.weight for unit in units.values())
