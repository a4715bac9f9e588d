"""Bugs that Muster could have, or had, each as a change of one line, and the seed that finds it.

`python -m tests.simulation.bugs NAME [FIRST MOST]` plays seeds with the bug in place and prints the first that goes
wrong and what it says. The source is changed as it is imported; no file is touched.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import ModuleType

FIRST_SEED = 5000


@dataclass(frozen=True, slots=True)
class Bug:
    """A line as it is, and as it would be.

    Attributes:
        seed: the first that finds it, counted from `FIRST_SEED` on.
    """

    module: str
    right: str
    wrong: str
    seed: int


BUGS = {
    "a Binding without the UID of its pod": Bug(
        "muster.operator.kube.bindings",
        "_Metadata(pod.namespace, pod.name, pod.uid)",
        '_Metadata(pod.namespace, pod.name, "")',
        5000,
    ),
    "a Binding without an answer counts as failed": Bug(
        "muster.operator.kube.bindings", "if unsure and not isinstance(error, Fenced):", "if False:", 5330
    ),
    "a trial that leaves a pod behind": Bug(
        "muster.framework.snapshot.snapshot", "while self.take_back():", "while False:", 5000
    ),
    "a lease that is taken while it is held": Bug(
        "muster.operator.leader.record",
        "return not holder or holder == identity or now >= self.runs_out()",
        "return True",
        5001,
    ),
    "no fence": Bug(
        "muster.operator.leader.elector",
        "return self._renewed is not None and self._time.now() < self._renewed + self._terms.renew_deadline",
        "return self._renewed is not None",
        5001,
    ),
    "a list that tells no deletions": Bug(
        "muster.operator.kube.store",
        "for key in [key for key in self._objects if key not in present and key not in keep]:",
        "for key in []:",
        5011,
    ),
    "no new list after a 410": Bug(
        "muster.operator.kube.informer",
        "if isinstance(error, (Gone, Rejected,",
        "if isinstance(error, (Rejected,",
        5011,
    ),
    "a hint that skips room that came free": Bug(
        "muster.plugins.resources.fit_hints", "row = snapshot.live_row_of(old.node_name)", "return Hint.SKIP", 5000
    ),
    "a node that is gone stays in the cache": Bug(
        "muster.framework.scheduler.event_handlers", "self._cache.remove_node(node.metadata.name)", "pass", 5003
    ),
    "nobody hears of a new node": Bug(
        "muster.framework.scheduler.event_handlers", "self._queue.move_all(NODE_ADD, None, node)", "pass", 5035
    ),
    "a pod that is gone stays in the cache": Bug(
        "muster.framework.scheduler.event_handlers",
        "if counted is not None:\n                self._cache.remove_pod(info)\n            self._queue",
        "self._queue",
        5000,
    ),
    "a pod that gives its node back is not forgotten": Bug(
        "muster.framework.scheduler.scheduling_cycle",
        "if self._cache.is_assumed(attempt.pod.uid):\n                self._cache.forget(attempt.pod)",
        "pass",
        5008,
    ),
    "a hint that skips nodes that are uncordoned": Bug(
        "muster.plugins.nodes.node_unschedulable", "was_cordoned and not is_cordoned", "False", 5019
    ),
    "a group that one member fewer is enough for": Bug(
        "muster.plugins.coscheduling.groups",
        "return self.min_member(group) - self.members.placed(group)",
        "return self.min_member(group) - self.members.placed(group) - 1",
        5011,
    ),
    "a backoff that never ends": Bug(
        "muster.framework.queue.scheduling_queue", "self._waiting.backoff_completed(now)", "pass", 5008
    ),
}


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


def hunt(bug: Bug, first: int, most: int) -> tuple[int, str] | None:
    """How many seeds from `first` on it took, and what the last said; None when no seed of `most` found it."""
    sys.meta_path.insert(0, _Finder(bug))
    from muster.testing.simulation import simulate  # after the change

    for number in range(most):
        outcome = simulate(first + number)
        if outcome.wrong:
            return number + 1, f"seed {outcome.seed}: {outcome.wrong[0]}"
    return None


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    name, first, most = (*sys.argv[1:], *(str(FIRST_SEED), "60")[len(sys.argv) - 2 :])
    found = hunt(BUGS[name], int(first), int(most))
    print("not found" if found is None else f"{found[0]} seeds: {found[1]}")
