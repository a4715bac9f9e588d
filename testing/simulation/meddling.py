"""Meddling: groups that another client changed or took members from. The judge excuses these, and counts them."""

from __future__ import annotations

from math import inf

from muster.operator.kube.informer import Timing
from muster.sandbox.kinds import PODS
from muster.sandbox.objects import Object

from .loop import SimulatedLoop
from .members import group_of
from .server import SimulatedServer

_SILENCE_SECONDS = Timing().silence


class Meddling:
    """The changes that users made to the groups of a cluster.

    Attributes:
        touched: by a group's name, when somebody outside last took members from it or changed it, or until when that
            may have gone unnoticed by a process whose watches were silent.
        given: groups of which another scheduler bound a member.
        cordoned: when nodes were last cordoned, by name.
        unnoticed_until: until when a process may not know what changes, on the clock of the loop.
    """

    def __init__(self, server: SimulatedServer, loop: SimulatedLoop) -> None:
        self.touched: dict[str, float] = {}
        self.given: set[str] = set()
        self.cordoned: dict[str, float] = {}
        self._server = server
        self._loop = loop
        self.unnoticed_until = -inf

    def touch(self, group: str) -> None:
        """Note that a user changes this group now."""
        self.touched[group] = max(self._loop.time(), self.unnoticed_until)

    def touch_group_of(self, pod: Object) -> None:
        """Note that a user changes the group of this pod, if it is in one."""
        group = group_of(pod)
        if group is not None:
            self.touch(group)

    def touch_those_on_their_way(self) -> None:
        """Note the groups with some members bound: Bindings of others may have been in transit."""
        bound = {group_of(pod) for pod in self._server.objects(PODS) if pod["spec"].get("nodeName")}
        for pod in self._server.objects(PODS):
            if not pod["spec"].get("nodeName") and group_of(pod) in bound:
                self.touch_group_of(pod)

    def give(self, pod: Object) -> None:
        """Note that another scheduler binds this pod."""
        self.touch_group_of(pod)
        self.given.add(group_of(pod) or "")

    def cordon(self, node: str) -> None:
        """Note that a user cordons this node now."""
        self.cordoned[node] = self._loop.time()

    def goes_unnoticed(self) -> None:
        """Note that the watches of a process fall silent, so that it may not know of changes for a while."""
        self.unnoticed_until = self._loop.time() + _SILENCE_SECONDS
