"""Wholeness: a group starts whole or not at all. The judge tells this of each Binding, and asks at rest.

A group of which fewer members than it needs are bound at rest is whole nevertheless if all that it needs were bound at
some time since the first of them was: it has lost members since. Else somebody has to have meddled with it: another
scheduler that bound a member, or whoever took a member away or changed the group while its Bindings were on their way.
These groups are excused, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from .claimants import bound_members, groups, minimum
from .server import EPOCH, SimulatedServer
from .world import World

_ON_THE_WAY_SECONDS = 60.0
"""From a decision to its last Binding, with every fault: what was asked of the API is asked again for half a minute."""


class Wholeness:
    """Follows the groups of a run.

    Attributes:
        judged: the groups that had a member bound at rest.
        excused: those of them that are not whole, for which somebody else is to blame.
    """

    def __init__(self, server: SimulatedServer, world: World) -> None:
        self.judged: set[str] = set()
        self.excused: set[str] = set()
        self._server = server
        self._world = world
        self._whole: set[str] = set()
        self._begun: dict[str, float] = {}

    def bound(self, name: str) -> None:
        """A member of a group was bound."""
        group = groups(self._server).get(name)
        count = bound_members(self._server)[name]
        if count <= 1:
            self._whole.discard(name)
            self._begun[name] = self._server.wall() - EPOCH
        if group is not None and count >= minimum(group):
            self._whole.add(name)

    def faults(self) -> Iterator[str]:
        """The groups at rest that started in part, and nobody else is to blame."""
        bound = bound_members(self._server)
        for name, group in groups(self._server).items():
            if bound[name]:
                self.judged.add(name)
            if not 0 < bound[name] < (needed := minimum(group)) or name in self._whole:
                continue
            if self._is_meddled_with(name):
                self.excused.add(name)
            else:
                yield f"{bound[name]} members of {name} are bound, which needs {needed}"

    def _is_meddled_with(self, name: str) -> bool:
        touched = self._world.touched.get(name)
        begun = self._begun.get(name)
        if name in self._world.given or begun is None:
            return touched is not None
        return touched is not None and begun - _ON_THE_WAY_SECONDS <= touched
