"""A question about moves, and what every search for its answer has at hand: the picture, the trial and the survey."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from muster.framework.contract import GroupId, Placed
from muster.framework.model.pod import Pod
from muster.operator.process.settings import Assembly
from muster.operator.simulate.extenders import NO_EXTENDERS, ExtenderSession
from muster.operator.simulate.manifests import Objects
from muster.plugins.catalog import POD_DISRUPTION_BUDGETS, DisruptionBudgets

from .movable import MovableUnit, MoveRules, MoveSurvey, survey
from .proposal import PodMove
from .trial import MovesOutcome, MoveTrial
from .waiting import WaitingTarget, gangs

NODES = "nodes"
"""What is to be freed when it is nodes, not the domains of a label."""
MOST_TRIALS = 200
"""The sets of pods that the engine tries for one aim."""


@dataclass(frozen=True, slots=True)
class DefragQuestion:
    """The purpose of moves.

    Attributes:
        start: the `namespace/name` of the group or pod that is to start; "" for the first that waits and can be helped.
        free: `nodes`, or the label whose domains are to be free; "" for something that waits.
        count: how many nodes or domains are to be free.
    """

    start: str = ""
    free: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class ClusterPicture:
    """A cluster as it was read.

    Attributes:
        assembly: the configuration that decides.
        cluster: its nodes, pods and other objects, PodDisruptionBudgets among them.
        wall: when it was read, in seconds since the epoch.
        session: the extenders that take part.
    """

    assembly: Assembly
    cluster: Objects
    wall: float
    session: ExtenderSession = NO_EXTENDERS

    def trial(self, target: WaitingTarget | None, ahead: Iterable[WaitingTarget] = ()) -> MoveTrial:
        """A trial on this picture, for what waits behind `ahead`."""
        before = [pod for each in ahead for pod in each.pods]
        return MoveTrial(self.assembly, self.cluster, target, ahead=before, wall=self.wall, session=self.session)

    def survey(self, trial: MoveTrial, target: WaitingTarget | None) -> MoveSurvey:
        """Which running pods may be moved for what waits."""
        large = gangs(self.assembly.groups, self.cluster)
        groups = self.assembly.groups.among(self.cluster.watched)

        def gang_of(pod: Pod) -> GroupId | None:
            group = groups.named_by(pod)
            return group if group in large else None

        budgets = DisruptionBudgets(self.cluster.watched.get(POD_DISRUPTION_BUDGETS, ()))
        rules = MoveRules(trial.unit_of, trial.protected_until, gang_of, budgets)
        return survey(trial.running, rules, own=() if target is None else target.groups)


def pods_in(units: Iterable[MovableUnit]) -> list[Pod]:
    """The pods of these units."""
    return [placed.pod.pod for unit in units for placed in unit.pods]


def moves_of(units: Sequence[MovableUnit], outcome: MovesOutcome) -> list[PodMove]:
    """The moves of these units, with the nodes that the trial found."""
    return [_move(unit, placed, outcome.moved[placed.pod.key]) for unit in units for placed in unit.pods]


def _move(unit: MovableUnit, placed: Placed, to: str) -> PodMove:
    pod, controller = placed.pod, placed.pod.pod.metadata.controller
    return PodMove(
        pod.key,
        pod.uid,
        placed.node_name,
        to,
        unit.name if unit.group else "",
        pod.priority,
        "" if controller is None else f"{controller.kind} {controller.name}",
    )
