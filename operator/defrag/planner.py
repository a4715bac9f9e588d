"""The planner: it answers questions about moves, for the command and for the web pages. It writes nothing.

An answer is a proposal for the moment at which the cluster was read; `carrying` tries it again before each step.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from muster.framework.model.pod_info import PodInfo

from .freeing import moves_to_free
from .proposal import DefragReport, MoveProposal, Unhelped
from .question import ClusterPicture, DefragQuestion
from .starting import moves_to_start
from .waiting import WaitingTarget, waiting_targets

_MOST_TARGETS = 10
"""The waiting pods and groups for which moves are sought, if none is named."""


async def propose(picture: ClusterPicture, question: DefragQuestion) -> DefragReport:
    """The moves that reach what is asked for.

    Raises ConfigurationError if a plugin cannot be created, and QuantityError if an amount cannot be parsed.
    """
    if question.free:
        return await moves_to_free(picture, question.free, question.count)
    targets = targets_in(picture)
    if question.start:
        place = next((at for at, target in enumerate(targets) if target.includes(question.start)), None)
        if place is None:
            return DefragReport(None, [Unhelped(question.start, "it is no group or pod that waits for a node")])
        found = await moves_to_start(picture, targets[place], targets[:place])
        return _report(found, targets[place], [])
    return await _for_the_first(picture, targets)


def targets_in(picture: ClusterPicture) -> list[WaitingTarget]:
    """The waiting groups and pods, the first to be tried first."""
    names = [profile.scheduler_name for profile in picture.assembly.profiles]
    return waiting_targets(picture.assembly.groups, picture.cluster, names)


async def _for_the_first(picture: ClusterPicture, targets: Sequence[WaitingTarget]) -> DefragReport:
    """The moves for the first that waits and can be helped; of equal pods, one is looked at."""
    unhelped: list[Unhelped] = []
    seen: set[Hashable] = set()
    for at, target in enumerate(targets):
        likeness = _likeness(target)
        if likeness in seen:
            continue
        seen.add(likeness)
        if len(seen) > _MOST_TARGETS:
            break
        found = await moves_to_start(picture, target, targets[:at])
        if isinstance(found, MoveProposal):
            return _report(found, target, unhelped)
        unhelped.append(Unhelped(target.name, found))
    return DefragReport(None, unhelped)


def _report(found: MoveProposal | str, target: WaitingTarget, before: Sequence[Unhelped]) -> DefragReport:
    if isinstance(found, MoveProposal):
        return DefragReport(found, before)
    return DefragReport(None, [*before, Unhelped(target.name, found)])


def _likeness(target: WaitingTarget) -> Hashable:
    """A key that is equal for equal pods without a group."""
    if target.groups:
        return target.name
    pod = PodInfo(target.pods[0])
    return pod.signature, pod.label_set
