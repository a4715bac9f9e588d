"""Answers: what one problem comes to on each node, kept from pod to pod and worked out again where something changed.

Nodes with equal devices in equal state get their answer from one search. Pods from one template pose one problem, so a
pod costs the rows that changed since the pod before it, often the one on which that was placed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from muster.framework.model.devices import MAX_ALTERNATIVES
from muster.framework.snapshot.reader import SnapshotReader

from .inventory import Inventory
from .problem import AllocationFailure, Problem
from .search import InvalidPools, Search, Site, Solution

_MAX_OUTCOMES = 65536
_STEPS_BETWEEN_LOOKS = 64
"""Steps of a search between two looks at the clock."""


class TimedOut(Exception):
    """The search was given up."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the problem comes to on some nodes.

    Attributes:
        solution: what to allocate, if it can be.
        score: how early the alternatives are that were chosen.
        failure: what is wrong with a claim or class.
        invalid: whether slices that contradict each other may be the reason why there is no solution.
        timed_out: whether the search was given up.
    """

    solution: Solution | None = None
    score: int = 0
    failure: AllocationFailure | None = None
    invalid: bool = False
    timed_out: bool = False


class Budget:
    """The time that searches for one pod may take together. `now` is a clock, `seconds` 0 for no limit."""

    def __init__(self, now: Callable[[], float], seconds: float) -> None:
        self._now = now
        self._until = now() + seconds if seconds else None
        self._steps = 0
        self._spent = False

    def spend(self) -> None:
        """One more step. Raises TimedOut."""
        self._steps += 1
        if self._until is not None and (self._spent or self._steps % _STEPS_BETWEEN_LOOKS == 0):
            self._spent = self._spent or self._now() >= self._until
            if self._spent:
                raise TimedOut


class Answers:
    """The outcomes of `problem` by row.

    Attributes:
        problem: what is asked.
        outcomes: the distinct outcomes.
        numbers: int32, shape (rows,): an index into `outcomes`; 0, which is no solution, for rows without a node.
        solved: bool, shape (rows,): whether there is a solution.
        scores: int64, shape (rows,): what it is worth.
    """

    def __init__(self, problem: Problem, inventory: Inventory, snapshot: SnapshotReader) -> None:
        self.problem = problem
        self._inventory = inventory
        self._snapshot = snapshot
        self.outcomes: list[Outcome] = []
        self._known: dict[Hashable, int] = {}
        self.numbers: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self.solved: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.scores: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._epoch = -1
        self._node_position = self._position = 0
        self._unsure: set[int] = set()
        self._forget()

    def refresh(self, budget: Budget) -> None:
        """Bring the columns up to date."""
        snapshot, inventory = self._snapshot, self._inventory
        height = snapshot.height
        if len(self.outcomes) > _MAX_OUTCOMES:
            self._forget()
        if len(self.numbers) < height:
            capacity = len(snapshot.live)
            self.numbers, self.solved = np.zeros(capacity, np.int32), np.zeros(capacity, np.bool_)
            self.scores, self._epoch = np.zeros(capacity, np.int64), -1
        for row in self._stale(height):
            number = self._answer(row, budget) if snapshot.live[row] else 0
            outcome = self.outcomes[number]
            self.numbers[row], self.solved[row] = number, outcome.solution is not None
            self.scores[row] = outcome.score
        self._epoch = inventory.epoch
        self._node_position = snapshot.node_journal.position
        self._position = inventory.changes.position

    def solve(self, row: int) -> tuple[Site, Solution] | None:
        """The solution for the node in `row` as of now, with the site that it belongs to."""
        site = self._inventory.site(row)
        known = self._known.get(self._inventory.state(site))
        outcome = self.outcomes[known] if known is not None else self._search(site, Budget(lambda: 0.0, 0))
        return None if outcome.solution is None else (site, outcome.solution)

    def _forget(self) -> None:
        """Work everything out anew."""
        self.outcomes = [Outcome()]
        self._known = {}
        self._epoch = -1

    def _stale(self, height: int) -> Iterable[int]:
        nodes = self._snapshot.node_journal.since(self._node_position)
        devices = self._inventory.changes.since(self._position)
        unsure, self._unsure = self._unsure, set()
        if self._epoch != self._inventory.epoch or nodes is None or devices is None:
            return range(height)
        return nodes | devices | unsure

    def _answer(self, row: int, budget: Budget) -> int:
        site = self._inventory.site(row)
        state = self._inventory.state(site)
        known = self._known.get(state)
        if known is not None:
            return known
        outcome = self._search(site, budget)
        self.outcomes.append(outcome)
        number = len(self.outcomes) - 1
        if outcome.timed_out:
            self._unsure.add(row)
        elif outcome.failure is None:
            self._known[state] = number
        return number

    def _search(self, site: Site, budget: Budget) -> Outcome:
        try:
            solution = Search(self.problem, site, self._inventory.use, budget.spend).run()
        except TimedOut:
            return Outcome(timed_out=True)
        except InvalidPools:
            return Outcome(invalid=True)
        except AllocationFailure as failure:
            return Outcome(failure=failure)
        return Outcome() if solution is None else Outcome(solution, self._score(solution))

    def _score(self, solution: Solution) -> int:
        """The earlier an alternative stands, the more it is worth."""
        total = 0
        for claim, choices in zip(self.problem.claims, solution, strict=True):
            met = {choice.wanted for choice in choices}
            for alternatives in claim.requests:
                if alternatives[0].alternative:
                    total += sum(MAX_ALTERNATIVES - at for at, each in enumerate(alternatives) if each in met)
        return total
