"""Answers: the result of one problem on each node, kept across pods and recomputed where something changed.

Nodes with equal devices in equal state share one search. Pods from one template pose one problem, so a pod costs the
rows that changed since the previous pod, often only the row on which that pod was placed.

The work is done in parts, one for each request of a caller that needs a row's answer. Anything may change between two
parts: changed rows are computed again, and a search continues only while its node is in the state in which the search
began. So several callers that wait for the same answers share the work: a search has a stack of its own, which outlives
the call in which it began.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from muster.framework.contract import SnapshotReader, Worker, at_each
from muster.framework.model.devices import MAX_ALTERNATIVES

from .inventory import Inventory
from .problem import AllocationFailure, AllocationProblem
from .search import STEPS_IN_A_PART, InvalidPools, Search, Site, Solution

_MAX_OUTCOMES = 65536
_MAX_BEGUN = 16
"""Searches that have begun and not ended."""
_STEPS_OF_A_ROW = 4
"""For finding out in which state a node is."""
_MOST_PARTS_AT_ONCE = 32
"""The parts of a search in one call if its caller cannot wait."""


@dataclass(frozen=True, slots=True)
class AllocationOutcome:
    """The outcome of the problem on some nodes.

    Attributes:
        solution: what to allocate, if it can be.
        score: higher, the earlier the chosen alternatives are listed.
        failure: the error in a claim or class.
        invalid: whether slices that contradict each other may be the reason why there is no solution.
        unknown: whether the outcome has not been computed.
    """

    solution: Solution | None = None
    score: int = 0
    failure: AllocationFailure | None = None
    invalid: bool = False
    unknown: bool = False


_NOTHING, _UNKNOWN = 0, 1


class _Begun(NamedTuple):
    """A search for a node in a state, and the worker that runs it."""

    site: Site
    state: Hashable
    search: Search
    worker: Worker


class OutcomesByRow:
    """The outcomes of `problem` by row.

    Attributes:
        problem: the problem.
        outcomes: the distinct outcomes.
        numbers: int32, shape (rows,): an index into `outcomes`; 0, which is no solution, for rows without a node, and 1
            for those whose answer is not known (any more).
        solved: bool, shape (rows,): whether there is a solution.
        scores: int64, shape (rows,): the score of the solution.
        lost: how often work was lost because something changed: a search that had begun, or all rows.
    """

    def __init__(self, problem: AllocationProblem, inventory: Inventory, snapshot: SnapshotReader) -> None:
        self.problem = problem
        self._inventory = inventory
        self._snapshot = snapshot
        self.outcomes: list[AllocationOutcome] = []
        self._known: dict[Hashable, int] = {}
        self.numbers: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self.solved: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.scores: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._epoch = -1
        self._node_position = self._position = 0
        self.lost = 0
        self._begun: dict[int, _Begun] = {}
        self._idle: Worker | None = None
        self._steps = 0
        self._forget()

    def advance(self, rows: npt.NDArray[np.intp]) -> int:
        """Compute a part of the outcomes missing for these rows. Returns the number of steps; 0 if none is missing."""
        self._look_for_changes()
        self._steps = 0
        unknown = rows[self.numbers[rows] == _UNKNOWN]
        for row in unknown[: STEPS_IN_A_PART // _STEPS_OF_A_ROW].tolist():
            if self._steps >= STEPS_IN_A_PART:
                break
            self._steps += _STEPS_OF_A_ROW
            number = self._answer(row) if self._snapshot.live[row] else _NOTHING
            if number == _UNKNOWN:
                break
            outcome = self.outcomes[number]
            self.numbers[row], self.solved[row] = number, outcome.solution is not None
            self.scores[row] = outcome.score
        return self._steps

    def solve(self, row: int) -> tuple[Site, Solution] | None:
        """The solution for the node in `row` as of now, with the site that it belongs to."""
        site = self._inventory.site(row)
        number = self._known.get(self._inventory.state(site), _UNKNOWN)
        for _ in range(_MOST_PARTS_AT_ONCE):
            if number != _UNKNOWN:
                break
            number = self._answer(row)
        solution = self.outcomes[number].solution
        return None if solution is None else (site, solution)

    def _forget(self) -> None:
        """Discard all outcomes, to compute them again."""
        self.outcomes = [AllocationOutcome(), AllocationOutcome(unknown=True)]
        self._known = {}
        self._epoch = -1

    def _look_for_changes(self) -> None:
        snapshot, inventory = self._snapshot, self._inventory
        if len(self.outcomes) > _MAX_OUTCOMES:
            self._forget()
        if len(self.numbers) < snapshot.height:
            capacity = len(snapshot.live)
            self.numbers, self.solved = np.zeros(capacity, np.int32), np.zeros(capacity, np.bool_)
            self.scores, self._epoch = np.zeros(capacity, np.int64), -1
        nodes = snapshot.node_journal.since(self._node_position)
        devices = inventory.changes.since(self._position)
        if self._epoch != inventory.epoch or nodes is None or devices is None:
            self.numbers[:], self.solved[:], self.scores[:] = _UNKNOWN, False, 0
            self.lost += 1
        elif nodes or devices:
            changed = [*(nodes | devices)]
            self.numbers[changed], self.solved[changed], self.scores[changed] = _UNKNOWN, False, 0
        self._epoch = inventory.epoch
        self._node_position = snapshot.node_journal.position
        self._position = inventory.changes.position

    def _answer(self, row: int) -> int:
        """The number of the outcome for a node, if that is known, or found in a part of a search."""
        site = self._inventory.site(row)
        state = self._inventory.state(site)
        known = self._known.get(state)
        if known is not None:
            return known
        outcome = self._search(row, site, state)
        if outcome.unknown:
            return _UNKNOWN
        self.outcomes.append(outcome)
        number = len(self.outcomes) - 1
        if outcome.failure is None:
            self._known[state] = number
        return number

    def _search(self, row: int, site: Site, state: Hashable) -> AllocationOutcome:
        begun = self._begun.pop(row, None)
        if begun is not None and (begun.site is not site or begun.state != state):
            begun = None
            self.lost += 1
        if begun is None:
            begun = self._begin(site, state)
        before = begun.search.steps
        try:
            ended = begun.worker.go_on(at_each)
        except InvalidPools:
            return AllocationOutcome(invalid=True)
        except AllocationFailure as failure:
            return AllocationOutcome(failure=failure)
        finally:
            self._steps += begun.search.steps - before
            if not begun.worker.busy:
                self._idle = begun.worker
        if not ended:
            if len(self._begun) >= _MAX_BEGUN:
                self._begun.clear()
            self._begun[row] = begun
            return self.outcomes[_UNKNOWN]
        solution = begun.search.solution
        return AllocationOutcome() if solution is None else AllocationOutcome(solution, self._score(solution))

    def _begin(self, site: Site, state: Hashable) -> _Begun:
        """A search that a worker is to run: the worker of the last search that ended, as a new stack is expensive."""
        search = Search(self.problem, site, self._inventory.use)
        worker, self._idle = self._idle or Worker(), None
        worker.begin(search.run)
        return _Begun(site, state, search, worker)

    def _score(self, solution: Solution) -> int:
        """The score of a solution: the earlier its alternatives are listed, the higher."""
        total = 0
        for claim, choices in zip(self.problem.claims, solution, strict=True):
            met = {choice.wanted for choice in choices}
            for alternatives in claim.requests:
                if alternatives[0].alternative:
                    total += sum(MAX_ALTERNATIVES - at for at, each in enumerate(alternatives) if each in met)
        return total
