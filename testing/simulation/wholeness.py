"""Wholeness: a group or tree starts as a whole or not at all. The judge reports requests to bind, and asks at rest.

A group with fewer bound members than its quorum at rest is whole nevertheless if its quorum was bound at some time
since its first Binding was requested: it has lost members since. Otherwise another client must have interfered: a
scheduler that bound a member, or a user who removed a member or changed the group while its Bindings were in flight.
Or the API refused Bindings, or the leader was killed between them, and before the next attempt nodes were cordoned, or
pods that no scheduler could hold back were bound: those of higher priority, and other schedulers' pods. The members
that the group lacks must then fit without that; of a tree, those of one part. Such groups are excused, and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import floor, inf

from muster.framework.model.times import parse_time
from muster.sandbox.objects import Object

from .amounts import priority
from .claimants import Capacity, Claimant, bound_members, gangs, groups, is_ours, minimum
from .meddling import Meddling
from .server import EPOCH, SimulatedServer
from .trees import Trees

_ON_THE_WAY_SECONDS = 60.0
"""The time from a decision to its last Binding, with every fault: requests are repeated for half a minute."""


class Wholeness:
    """Follows the groups of a run.

    Attributes:
        judged: the groups that had a member bound at rest.
        excused: those of them that are not whole, for which somebody else is to blame.
    """

    def __init__(self, server: SimulatedServer, meddling: Meddling) -> None:
        self.judged: set[str] = set()
        self.excused: set[str] = set()
        self._server = server
        self._meddling = meddling
        self._whole: set[str] = set()
        self._refused: dict[str, float] = {}
        self._begun: dict[str, float] = {}

    def refused(self, name: str) -> None:
        """Note that a member of a group was not bound, although a scheduler asked for it."""
        now = self._now()
        if now - self._refused.get(name, -inf) > _ON_THE_WAY_SECONDS:
            self._refused[name] = now

    def bound(self, name: str) -> None:
        """Note that a member of a group was bound."""
        group = groups(self._server).get(name)
        count = bound_members(self._server)[name]
        if count <= 1:
            self._whole.discard(name)
            now, refused = self._now(), self._refused.get(name, -inf)
            self._begun[name] = refused if now - refused <= _ON_THE_WAY_SECONDS else now
        if group is not None and count >= minimum(group):
            self._whole.add(name)
        trees = Trees(self._server)
        for above in trees.above(name):
            self._tree_bound(trees, above)

    def _tree_bound(self, trees: Trees, name: str) -> None:
        known, bound = groups(self._server), bound_members(self._server)
        if sum(bound[leaf] for leaf in trees.leaves(name)) <= 1:
            self._whole.discard(name)
            self._begun[name] = min(self._begun[leaf] for leaf in trees.leaves(name) if bound[leaf])
        if trees.has_enough(name, lambda leaf: bound[leaf] >= minimum(known[leaf])):
            self._whole.add(name)

    def _now(self) -> float:
        return self._server.wall() - EPOCH

    def faults(self) -> Iterator[str]:
        """The groups at rest that started in part through no other client's fault."""
        bound = bound_members(self._server)
        for name, group in groups(self._server).items():
            if bound[name]:
                self.judged.add(name)
            if not 0 < bound[name] < (needed := minimum(group)) or name in self._whole:
                continue
            if self._is_meddled_with(name, [name]) or self._is_outrun(name, [name]):
                self.excused.add(name)
            else:
                yield f"{bound[name]} members of {name} are bound, which needs {needed}"
        yield from self._faults_of_trees(bound)

    def _faults_of_trees(self, bound: Counter[str]) -> Iterator[str]:
        trees, known = Trees(self._server), groups(self._server)
        for name in (each for root in trees.roots() for each in trees.composites(root)):
            leaves = [*trees.leaves(name)]
            runs = [leaf for leaf in leaves if bound[leaf]]
            if runs:
                self.judged.add(name)
            enough = trees.has_enough(name, lambda leaf: bound[leaf] >= minimum(known[leaf]))
            if not runs or enough or name in self._whole:
                continue
            if self._is_meddled_with(name, leaves) or self._is_outrun(name, leaves):
                self.excused.add(name)
            else:
                yield f"of {name}, which needs {trees.needed(name)} parts, only {', '.join(runs)} run"

    def _is_meddled_with(self, name: str, members_of: Sequence[str]) -> bool:
        """Whether another client interfered: `members_of` are the groups of pods in it."""
        touched = max((self._meddling.touched.get(each, -inf) for each in members_of), default=-inf)
        begun = self._begun.get(name)
        if begun is None or any(each in self._meddling.given for each in members_of):
            return touched > -inf
        return begun - _ON_THE_WAY_SECONDS <= touched

    def _is_outrun(self, name: str, members_of: Sequence[str]) -> bool:
        """Whether one of its groups of pods lacks what others took, or a user cordoned, after the first Binding."""
        begun, waits = self._begun.get(name), gangs(self._server)
        lacking = [waits[each] for each in members_of if each in waits]
        return begun is not None and any(self._is_outrun_since(begun, gang) for gang in lacking)

    def _is_outrun_since(self, begun: float, gang: Claimant) -> bool:
        def was_there(pod: Object) -> bool:
            owes = is_ours(pod) and priority(pod) <= gang.priority
            return owes or not pod["spec"].get("nodeName") or _bound_at(pod) < floor(begun)

        opened = [node for node, at in self._meddling.cordoned.items() if at >= begun]
        fits_now, fitted = Capacity(self._server), Capacity(self._server, counts=was_there, opened=opened)
        return fitted.takes(gang) and not fits_now.takes(gang)


def _bound_at(pod: Object) -> float:
    """The time at which the pod was bound, in whole seconds on the loop's clock."""
    conditions = {each["type"]: each for each in pod["status"].get("conditions", ())}
    return parse_time(conditions["PodScheduled"]["lastTransitionTime"]) - EPOCH
