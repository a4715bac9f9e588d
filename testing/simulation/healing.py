"""Healing: whether groups that lost a member were treated as their policies say, and no others.

Losses after all faults are over are judged. A group whose pods a PodDisruptionBudget protects may wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muster.framework.groups.healing import HealingPolicy
from muster.sandbox.kinds import POD_DISRUPTION_BUDGETS, PODS

from .claimants import bound_members, groups, minimum
from .owners import Loss
from .server import SimulatedServer
from .traits import HEALING, annotation_of


def unhealed(server: SimulatedServer, losses: Iterable[Loss]) -> Iterator[str]:
    """At rest: the groups whose running members cannot continue.

    One that shrinks may as long as it has as many as it needs, which a successor may be that came in time.
    """
    bound = bound_members(server)
    known = groups(server)
    protected = {budget["metadata"]["name"] for budget in server.objects(POD_DISRUPTION_BUDGETS)}
    running = {pod["metadata"]["uid"] for pod in server.objects(PODS) if pod["spec"].get("nodeName")}
    for loss in losses:
        group = known.get(loss.group)
        if group is None or loss.group in protected or len(loss.left) + 1 < (needed := minimum(group)):
            continue
        tolerated = annotation_of(group, HEALING) == HealingPolicy.SHRINK and bound[loss.group] >= needed
        if not tolerated and (still := loss.left & running):
            yield f"{loss.group} lost a member, and {len(still)} of the others still run"


def heals(server: SimulatedServer, pod: str) -> bool:
    """Whether a member, by its name, belongs to a group that heals or was deleted."""
    group = groups(server).get(pod.rpartition("-")[0])
    return group is None or annotation_of(group, HEALING) is not None
