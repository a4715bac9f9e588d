"""Bugs that Muster could have, or had, each as a change of one line, which the simulation has to find.

`python -m tests.simulation.bugs NAME` plays seeds with the bug in place, one that has found it before and then those
from 0 on, and prints the first that goes wrong and its faults. `--keep` writes the acts of that seed to `regressions/`,
reduced, and `--kept` plays these instead. The source is changed when it is imported; no file is changed.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.testing.simulation import SimulationOutcome

REGRESSIONS = Path(__file__).parent / "regressions"
MOST_SEEDS = 400
MOST_LOTS = 200
"""Of a kept history, for one of which it has to go wrong."""


@dataclass(frozen=True, slots=True)
class Bug:
    """A line as it is, and as it would be.

    `needs` are patterns of acts: a history without an act for each of them hardly ever shows the bug, and its seed is
    passed over. `found_by` is the seed that is played first, because it has found the bug before. After a change of
    the histories it may not any more, and the hunt goes through all seeds: write the one that it ends with here.
    `is_reviewed` is False for a bug that reviews make up for after ten seconds; they are kept from it in the hunt.
    """

    module: str
    right: str
    wrong: str
    needs: tuple[str, ...] = ()
    found_by: int = 0
    is_reviewed: bool = True

    def seeds(self, most: int) -> list[int]:
        """The first `most` seeds, in the order in which they are played."""
        return sorted(range(most), key=lambda seed: (seed != self.found_by, seed))


NO_RESCUE = Bug(
    "muster.framework.scheduler.review",
    "is_new = status is None or not status.rejected or self._reports.reported(pod.uid) != reasons_of(status)",
    "is_new = status is not None and self._reports.reported(pod.uid) != reasons_of(status)",
)
"""A review that finds that a pod would fit does not have it tried."""
BUGS = {
    "a Binding without the UID of its pod": Bug(
        "muster.operator.kube.bindings",
        "_Metadata(pod.namespace, pod.name, pod.uid)",
        '_Metadata(pod.namespace, pod.name, "")',
    ),
    "a Binding without an answer counts as failed": Bug(
        "muster.operator.kube.bindings",
        "if unsure and not isinstance(error, Fenced):",
        "if False:",
        (r"'unanswered'.*/binding",),
        found_by=15,
    ),
    "a trial that leaves a pod behind": Bug(
        "muster.framework.snapshot.snapshot",
        "self._take_back(tuple(self._undo))",
        "self._take_back(())",
        found_by=1,
    ),
    "a lease that is taken while it is held": Bug(
        "muster.operator.leader.record",
        "return not holder or holder == identity or now >= self.runs_out()",
        "return True",
        found_by=2,
    ),
    "no fence": Bug(
        "muster.operator.leader.elector",
        "return self._renewed is not None and self._time.now() < self._renewed + self._terms.renew_deadline",
        "return self._renewed is not None",
        found_by=15,
    ),
    "a list that tells no deletions": Bug(
        "muster.operator.kube.store",
        "for key in [key for key in self._objects if key not in present and key not in keep]:",
        "for key in []:",
        found_by=3,
    ),
    "no new list after a 410": Bug(
        "muster.operator.kube.informer",
        "if isinstance(error, (Gone, Rejected,",
        "if isinstance(error, (Rejected,",
        ("history_is_forgotten",),
        found_by=24,
    ),
    "a hint that skips room that came free": Bug(
        "muster.plugins.resources.fit_hints",
        "row = self.snapshot.live_row_of(old.node_name)",
        "return Hint.SKIP",
        ("colossus",),
        found_by=79,
        is_reviewed=False,
    ),
    "a node that is gone stays in the cache": Bug(
        "muster.framework.scheduler.event_handlers",
        "self._cache.remove_node(node.metadata.name)",
        "pass",
        ("node_goes",),
        found_by=2,
    ),
    "a watch that falls silent unnoticed": Bug(
        "muster.operator.kube.informer",
        "silence=timing.silence",
        "silence=1_000_000.0",
        ("watches_fall_silent",),
        found_by=8,
    ),
    "nobody hears of a new node": Bug(
        "muster.framework.scheduler.event_handlers",
        "self._queue.move_all(NODE_ADD, None, node)",
        "pass",
        (r"node_comes\(late",),
        found_by=5,
        is_reviewed=False,
    ),
    "a pod that is gone stays in the cache": Bug(
        "muster.framework.scheduler.event_handlers",
        "if counted is not None:\n                self._cache.remove_pod(info)\n            self._queue",
        "self._queue",
    ),
    "a pod that gives its node back is not forgotten": Bug(
        "muster.framework.scheduler.schedule_one",
        "if self._services.cache.is_assumed(attempt.pod.uid):\n"
        "                self._services.cache.forget(attempt.pod)",
        "pass",
        (r"'refusals'.*/binding",),
        found_by=15,
    ),
    "a hint that skips nodes that are uncordoned": Bug(
        "muster.plugins.nodes.node_unschedulable",
        "was_cordoned and not is_cordoned",
        "False",
        ("node_is_uncordoned",),
        found_by=5,
        is_reviewed=False,
    ),
    "a group that one member fewer is enough for": Bug(
        "muster.plugins.coscheduling.record",
        "return self.quorum - len(self.placed)",
        "return self.quorum - len(self.placed) - 1",
        ("group_comes",),
        found_by=7,
    ),
    "a native gang that is not told who has succeeded": Bug(
        "muster.framework.groups.book",
        "self._quorum_follower.quorum_changed(group, state)",
        "pass",
        ("member_ends",),
        found_by=48,
    ),
    "a backoff that never ends": Bug(
        "muster.framework.queue.scheduling_queue",
        "self._places.backoff_q.completed(now)",
        "None",
        ("/binding",),
        found_by=11,
    ),
    "a device that is taken counts as free": Bug(
        "muster.plugins.dynamicresources.search",
        "return self._use.taken(id_) or self._holders[id_] > 0",
        "return self._holders[id_] > 0",
        ("devices_come", "claim"),
        found_by=4,
    ),
    "a topology that is required counts as preferred": Bug(
        "muster.plugins.coscheduling.topology",
        "Topology(tuple(levels), len(must), ",
        "Topology(tuple(levels), 0, ",
        (r"False, \(\('required-topology'", "node-1"),
        found_by=29,
    ),
    "a victim that could stay": Bug(
        "muster.plugins.defaultpreemption.dry_run",
        "            if node.name in failures:\n",
        "            if True:\n",
        found_by=4,
    ),
    "a victim as important as whoever it is evicted for": Bug(
        "muster.framework.contract.eviction",
        "return (priority < self.below and pod.namespace",
        "return (priority <= self.below and pod.namespace",
        found_by=1,
    ),
    "a victim that has not run for its minimum": Bug(
        "muster.plugins.preemptiontiming.plugin",
        "return until if until > now else 0.0",
        "return 0.0",
        ("urgency_is_timed",),
        found_by=11,
    ),
    "a preemptor that does not wait for its delay": Bug(
        "muster.plugins.preemptiontiming.plugin",
        "if not_before > now:",
        "if False:",
        ("urgency_is_timed",),
        found_by=16,
    ),
    "budgets that nobody counts": Bug(
        "muster.plugins.defaultpreemption.budgets",
        "    return pods - going\n",
        "    return 0\n",
        ("budget_comes",),
        found_by=4,
    ),
    "a tree without the domain that it requires": Bug(
        "muster.plugins.gangscheduling.trees",
        "placed, topology_of(spec.scheduling_constraints), parts)",
        "placed, None, parts)",
        ("tree_comes.*(zone|rack)", "node-1"),
        found_by=32,
    ),
    "a tree that one part fewer is enough for": Bug(
        "muster.plugins.gangscheduling.trees",
        "return Part(name, spec.min_group_count, placed",
        "return Part(name, spec.min_group_count - 1, placed",
        (r"tree_comes\([^,]*, [23],",),
        found_by=48,
    ),
    "slices that nobody keeps together": Bug(
        "muster.plugins.coscheduling.topology",
        "slice_size=size, slice_level",
        "slice_size=0, slice_level",
        ("group_comes.*slice-size.*True",),
        found_by=316,
    ),
    "a victim's group that can spare one member more": Bug(
        "muster.plugins.defaultpreemption.units",
        "if len(mine) <= unit.spare:",
        "if len(mine) <= unit.spare + 1:",
        ("greater",),
        found_by=18,
    ),
    "a gang that shrinks to less than it needs": Bug(
        "muster.framework.groups.healing",
        "tolerated = policy is HealingPolicy.SHRINK and",
        "tolerated = policy is HealingPolicy.SHRINK or",
        ("owner_comes", "member_is_lost"),
        found_by=173,
    ),
    "a lost member that its successor hides": Bug(
        "muster.framework.groups.healing",
        "return self.members.keys() - bound.keys()",
        "return self.members.keys() - bound.keys() if len(bound) < len(self.members) else set()",
        ("healing-policy",),
        found_by=173,
    ),
    "a claim of several devices that one is enough for": Bug(
        "muster.plugins.dynamicresources.search",
        "count = wanted.count if everything is None else len(everything)",
        "count = 1 if everything is None else len(everything)",
        ("devices_come",),
        found_by=3,
    ),
    "a reservation that keeps nobody off": Bug(
        "muster.plugins.reservation.plugin",
        "        if kept_off is None:",
        "        if True:",
        found_by=16,
    ),
    "a reservation that outlasts the wait of its pod": Bug(
        "muster.plugins.reservation.reserved_capacity", "self.release(capacity.holder)", "pass"
    ),
    "a hold that nobody heeds": Bug(
        "muster.framework.groups.holds",
        "if HOLD not in annotations:",
        "if True:",
        ("held_group_comes",),
        found_by=31,
    ),
    "a resume that wakes nobody": Bug(
        "muster.framework.groups.plugin",
        "self._update_book(group, new)\n            self._on_group_changed(group)",
        "self._update_book(group, new)\n            if known is None:\n                self._on_group_changed(group)",
        ("held_group_comes",),
        found_by=128,
    ),
}
"""Each is found by the first `MOST_SEEDS` seeds."""

ONCE = {
    "a new leader that lists pods and nodes alone": Bug(
        "muster.operator.process.informers",
        "await asyncio.gather(*(kind.refreshed() for kind in self._kinds))",
        "await asyncio.gather(*(kind.refreshed() for kind in self._kinds[:2]))",
        ("standbys_miss_much",),
    ),
    "a gang out of the queue that keeps the node that the leader before gave it": Bug(
        "muster.framework.runtime.nominator", "self._learned[pod.uid] = gated", "pass"
    ),
    "a member of a native gang that loses its node to others when it is refused": Bug(
        "muster.framework.groups.plugin", "self._nominations.keep(decision.pod, decision.node_name)", "pass"
    ),
    "a quota that counts nominated parts of a tree twice": Bug(
        "muster.plugins.capacityscheduling.nominated",
        "tree.by_namespace, ledger.added",
        "tree.by_namespace, ()",
        (r"quota_is_set", r"tree_comes"),
        found_by=1354,
    ),
    "a reservation that does not help and is made again and again": Bug(
        "muster.plugins.reservation.waiters",
        "if waiter is None or not (waiter.lacks_more or self._start_of(holder) is not None):",
        "if True:",
    ),
}
"""Those that a seed found once, among thousands: each is found by the history in `regressions/` that has its name."""


class _Changed(importlib.machinery.SourceFileLoader):
    """Loads a module with a line of it changed."""

    bug: Bug

    def get_code(self, fullname: str) -> object:  # type: ignore[override]
        """Compiled anew: what is cached has no bug."""
        path = self.get_filename(fullname)
        source = self.get_data(path).decode()
        if source.count(self.bug.right) != 1:
            raise LookupError(f"{fullname} has {source.count(self.bug.right)} times: {self.bug.right}")
        return self.source_to_code(source.replace(self.bug.right, self.bug.wrong), path)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, bug: Bug) -> None:
        self._bug = bug

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module that has the bug."""
        if name != self._bug.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Changed(name, spec.origin)
        spec.loader.bug = self._bug
        return spec


def put_back(bug: Bug) -> None:
    """From now on the module has the bug; it must not have been imported."""
    assert bug.module not in sys.modules
    sys.meta_path.insert(0, _Finder(bug))


def path_of(name: str) -> Path:
    """Where the history is kept that finds this bug."""
    return REGRESSIONS / f"{name.replace(' ', '-').lower()}.json"


def main() -> None:
    """Play, and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.bugs", description=__doc__)
    parser.add_argument("name", choices=[*BUGS, *ONCE])
    parser.add_argument("--most", type=int, default=MOST_SEEDS, help="seeds to play")
    parser.add_argument("--keep", action="store_true", help="keep what finds it, cut down")
    parser.add_argument("--kept", action="store_true", help="play what is kept instead of seeds")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    bug = (BUGS | ONCE)[given.name]
    put_back(bug)
    if not bug.is_reviewed:
        put_back(NO_RESCUE)
    from muster.testing.simulation import kept, simulate  # after the change
    from muster.testing.simulation.history import history_of, scale_of

    def may_show(seed: int) -> bool:
        history = [str(act) for act in history_of(str(seed), scale_of(str(seed)))]
        return all(any(re.search(need, act) for act in history) for need in bug.needs)

    outcomes: Iterable[SimulationOutcome] = map(simulate, filter(may_show, bug.seeds(given.most)))
    if given.kept:
        outcomes = (lot.play() for lot in kept.read(path_of(given.name)).lots(MOST_LOTS))
    for number, outcome in enumerate(outcomes, 1):
        if outcome.wrong:
            if given.keep:
                kept.kept_of(outcome, kept.cut_down(outcome)).write(path_of(given.name))
            print(f"{number} seeds: seed {outcome.seed}: {outcome.wrong[0]}")
            return
    print("not found")


if __name__ == "__main__":
    main()
