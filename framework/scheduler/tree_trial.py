"""The trial of a tree of groups: its parts are placed one after another under the undo log, and all of it is undone.

`TreeCycle` runs it. A part is tried with the previous parts on their nodes, within the domain of the group above
it; if the part needs a domain of its own, in one domain after another. Members of a part that did not fit are off the
nodes again before the next part is tried. The rules are those of kube-scheduler's recursive algorithm for composite pod
groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..contract.group_tree import Part, Shortage
from ..contract.status import Status
from ..runtime.group_calls import GroupCalls
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import Rows
from ..work import checkpoint, shielded
from .attempt import Attempt
from .domain_search import DomainSearch
from .group_trial import GroupTrials
from .tree_selection import selections


@dataclass(slots=True)
class PartTrial:
    """The result of trying a part.

    Attributes:
        part: the part.
        placed: its members that found a node and keep it; none if the part does not fit.
        tried: for a leaf, all members that were tried, with their results.
        shortage: what the part lacks; None if it fits.
        error: an ERROR, because of which the whole tree fails.
        parts: the trials of its parts, as far as they were tried.
    """

    part: Part
    placed: Sequence[Attempt] = ()
    tried: Sequence[Attempt] = ()
    shortage: Shortage | None = None
    error: Status | None = None
    parts: Sequence[PartTrial] = field(default_factory=list)

    @property
    def fits(self) -> bool:
        """Whether the part has what it needs."""
        return self.shortage is None and self.error is None

    @property
    def has_no_domain(self) -> bool:
        """Whether there is no domain at all for the part."""
        short = self.shortage
        return short is not None and short.no_domain is not None and not short.no_domain.best

    def leaves(self) -> Iterator[PartTrial]:
        """The trials of the leaves, which are groups of pods."""
        if self.part.parts is None:
            yield self
        for part in self.parts:
            yield from part.leaves()


@dataclass(frozen=True, slots=True)
class _Ground:
    """The subject of a trial: the group plugin, and the waiting members of each leaf by its key."""

    plugin: GroupCalls
    waiting: Mapping[str, Sequence[Attempt]]

    def of(self, part: Part) -> list[Attempt]:
        """The waiting members of all leaves of a part."""
        return [attempt for leaf in part.leaves() for attempt in self.waiting.get(leaf.key, ())]


class TreeTrials:
    """Tries trees of groups."""

    def __init__(self, trials: GroupTrials, domains: DomainSearch, snapshot: Snapshot) -> None:
        self._trials = trials
        self._domains = domains
        self._snapshot = snapshot

    def run(self, plugin: GroupCalls, tree: Part, attempts: Sequence[Attempt]) -> PartTrial:
        """Try the waiting members of a tree, in each leaf in the order given."""
        for attempt in attempts:
            attempt.reset()
        return self._search(_Ground(plugin, _by_leaf(plugin, attempts)), tree, None)

    def selections(self, plugin: GroupCalls, tree: Part, attempts: Sequence[Attempt]) -> Iterable[Sequence[Attempt]]:
        """Selections of these waiting members that suffice for the tree, see `tree_selection`."""
        return selections(tree, _by_leaf(plugin, attempts), self._snapshot.resources.offered_in_all())

    def _search(self, ground: _Ground, part: Part, within: Rows | None) -> PartTrial:
        """Try a part: in one domain after another if it needs one, else anywhere `within` its parent's rows."""
        attempts = ground.of(part)
        for attempt in attempts:
            attempt.state.within = within
        if part.topology is None:
            return self._try(ground, part, within)
        if not attempts:
            fault = self._domains.placed.fault(part.topology, part.placed_members)
            return self._try(ground, part, within) if fault is None else PartTrial(part, error=fault)

        def try_() -> PartTrial:
            return self._try(ground, part, attempts[0].state.within)

        domains = self._domains.inside(within)
        found = domains.search(part.topology, part.placed_members, attempts, max(1, part.least), try_=try_)
        if isinstance(found, Status):
            return PartTrial(part, error=found)
        trial = found.trial
        if trial.shortage is not None:
            short = trial.shortage
            trial.shortage = Shortage(short.fitting, short.left, short.tried, found.no_domain)
        return trial

    def _try(self, ground: _Ground, part: Part, within: Rows | None) -> PartTrial:
        if part.parts is None:
            trial = self._try_leaf(ground, part)
        else:
            trial = self._try_parts(ground, part, part.parts, within)
        if trial.shortage is not None and part.topology is not None and not ground.of(part):
            no_domain = self._domains.inside(within).without_attempts(part.topology, part.placed_members)
            trial.shortage = replace(trial.shortage, no_domain=no_domain)
        return trial

    def _try_leaf(self, ground: _Ground, part: Part) -> PartTrial:
        attempts = ground.waiting.get(part.key, ())
        if len(attempts) < part.needed:
            return PartTrial(part, shortage=Shortage(0, len(attempts), tried=False))
        if not attempts:
            return PartTrial(part)
        trial = self._trials.run(ground.plugin, attempts, part.needed)
        tried = [*trial.placed, *trial.rejected]
        if trial.error is not None:
            return PartTrial(part, (), tried, error=ground.plugin.reject_part(part, trial.error))
        if len(trial.placed) >= part.needed:
            return PartTrial(part, trial.placed, tried)
        return PartTrial(part, (), tried, Shortage(len(trial.placed), part.needed - len(trial.placed) - 1, tried=True))

    def _try_parts(self, ground: _Ground, part: Part, parts: Sequence[Part], within: Rows | None) -> PartTrial:
        """Try the parts one after another, each beside the previously placed ones, until too few are left."""
        found = PartTrial(part, parts=(trials := []))
        kept: list[Attempt] = []
        fitting, left = 0, len(parts)
        with self._snapshot.trial():
            try:
                while left and fitting + left >= part.needed and found.error is None:
                    trial = self._search(ground, parts[len(parts) - left], within)
                    trials.append(trial)
                    left -= 1
                    found.error = None if trial.error is None else ground.plugin.reject_part(part, trial.error)
                    if trial.fits:
                        found.error = self._keep(trial.placed, kept)
                        fitting += 1
                    checkpoint()
                placed = [*kept]
            finally:
                with shielded:
                    while kept:
                        _unreserve(kept.pop())
                        checkpoint()
        if found.error is None and fitting >= part.needed:
            found.placed = placed
        else:
            found.shortage = Shortage(fitting, left, bool(trials))
        return found

    def _keep(self, placed: Sequence[Attempt], kept: list[Attempt]) -> Status | None:
        """Place members again on the nodes that they have just found."""
        for attempt in placed:
            self._snapshot.add_pod(attempt.pod, attempt.node_name)
            kept.append(attempt)
            rejection = attempt.framework.reserving.reserve(attempt.state, attempt.pod, attempt.node_name)
            if rejection is not None:
                return Status.failure(f"reserved a moment ago, but not again: {rejection.message}")
            checkpoint()
        return None


def _by_leaf(plugin: GroupCalls, attempts: Sequence[Attempt]) -> dict[str, list[Attempt]]:
    """The attempts of each leaf, by its key, in their order."""
    found: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        found.setdefault(plugin.part_of(attempt.pod), []).append(attempt)
    return found


def _unreserve(attempt: Attempt) -> None:
    attempt.framework.reserving.unreserve(attempt.state, attempt.pod, attempt.node_name)
