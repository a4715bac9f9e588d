"""Owners of groups: they recreate lost pods, as Jobs and StatefulSets do, so that a group can heal.

When the faults are over, members of groups that heal are removed, and the judge checks at rest what happened to the
other members; see `healing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from muster.sandbox.kinds import NATIVE_POD_GROUPS, PODS

from .acts import CallLater
from .amounts import has_ended
from .members import group_of, member_of
from .passing import AT_ONCE, NAMESPACE
from .server import SimulatedServer
from .traits import HEALING, annotation_of

_EVERY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Loss:
    """A group lost a member. `left` are the UIDs of the others that had a node."""

    group: str
    left: frozenset[str]


class Owners:
    """Owns groups.

    Attributes:
        losses: of groups that heal, in their order.
    """

    def __init__(self, server: SimulatedServer, later: CallLater) -> None:
        self._server = server
        self._store = server.store
        self._later = later
        self.losses: list[Loss] = []
        self._owns = True

    def owner_comes(self, group: str, members: int, cpu: int, native: bool, *, urgent: bool) -> None:
        """Recreate members of the group, from now on, soon after one is gone."""
        if not self._owns:
            return
        for number in range(members):
            if self._store.find(PODS, f"{group}-{number}", namespace=NAMESPACE) is None:
                pod = member_of(group, number, cpu, native, urgent=urgent)
                self._store.create(PODS, pod, namespace=NAMESPACE)
        self._later(_EVERY_SECONDS, partial(self.owner_comes, group, members, cpu, native, urgent=urgent))

    def owners_go(self) -> None:
        """Recreate no pods from now on."""
        self._owns = False

    def member_is_lost(self, pick: float) -> None:
        """Delete a member of a group that heals."""
        groups = [*self._server.objects(self._server.pod_groups), *self._server.objects(NATIVE_POD_GROUPS)]
        healing = {each["metadata"]["name"] for each in groups if annotation_of(each, HEALING)}
        running = [pod for pod in self._server.objects(PODS) if pod["spec"].get("nodeName") and not has_ended(pod)]
        members = [pod for pod in running if group_of(pod) in healing]
        if members:
            lost = members[int(pick * len(members))]
            name = group_of(lost) or ""
            left = {pod["metadata"]["uid"] for pod in members if group_of(pod) == name and pod is not lost}
            self.losses.append(Loss(name, frozenset(left)))
            self._store.delete(PODS, lost["metadata"]["name"], namespace=NAMESPACE, options=AT_ONCE)
