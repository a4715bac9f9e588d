"""Verdicts: a Filter plugin's answer about many nodes at once, the diagnosis of a whole run, and its message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..model.pod import UNSCHEDULABLE
from .status import Code, Status, cut

Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
_ROOM = 4096
_ANONYMOUS = tuple(
    Status(code, (f"node(s) were {code.wire_name} for a plugin with too many reasons",)) for code in Code
)
"""The statuses of a plugin that has given too many different reasons."""


class StatusTable:
    """A plugin's possible rejections, numbered from 1; number 0 means that the node passes.

    A plugin creates one table when it is built and answers with its numbers for its whole life, because verdicts are
    cached. So reasons are counted with `bincount`, and a Status object exists once, not once per node. A plugin whose
    reasons contain data of the pod creates one table per signature instead (see `authoring.PerSignature`), which is
    freed with its pods. A table holds a few thousand statuses; later ones are reported with their code alone, so that a
    plugin which names pods in its reasons cannot use up the memory.
    """

    __slots__ = ("_numbers", "_statuses", "errors")

    def __init__(self, statuses: Iterable[Status] = ()) -> None:
        self._statuses: list[Status] = []
        self._numbers: dict[Status, int] = {}
        self.errors: frozenset[int] = frozenset()
        """Numbers whose status is an ERROR rather than a rejection."""
        for status in statuses:
            self.number(status)

    def number(self, status: Status) -> int:
        """The number of `status`; a new status gets the next number.

        Raises TypeError if it consists of anything but a code, texts and an exception.
        """
        known = self._numbers.get(status)
        if known is not None:
            return known
        checked = status.checked()
        if checked is not status and (known := self._numbers.get(checked)) is not None:
            return known
        if len(self._statuses) >= _ROOM and checked not in _ANONYMOUS:
            return self.number(next(each for each in _ANONYMOUS if each.code is checked.code))
        self._statuses.append(checked)
        number = self._numbers[checked] = len(self._statuses)
        if not checked.rejected:
            self.errors |= {number}
        return number

    def with_code(self, code: Code) -> Mask:
        """bool, shape (numbers,): which numbers, from 0 on, stand for a status with this code."""
        return np.array([False, *[status.code is code for status in self._statuses]])

    def __getitem__(self, number: int) -> Status:
        """The status with this number, counted from 1."""
        if number < 1:
            raise IndexError("number 0 stands for a node that passes; it has no status")
        return self._statuses[number - 1]

    def __len__(self) -> int:
        return len(self._statuses)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """One verdict per node, in the order of the nodes in the question.

    Attributes:
        codes: int32, shape (nodes,): 0 where the node passes, else a number of `table`.
        table: the meaning of the numbers.
    """

    codes: Codes
    table: StatusTable

    @classmethod
    def where(cls, passes: Mask, table: StatusTable, number: int = 1) -> Verdicts:
        """`number` wherever `passes` is False."""
        return cls(np.where(passes, 0, number).astype(np.int32), table)

    @classmethod
    def all_pass(cls, nodes: int, table: StatusTable) -> Verdicts:
        """Every one of `nodes` nodes passes."""
        return cls(np.zeros(nodes, np.int32), table)


class NodeRejection(NamedTuple):
    """One plugin's rejection of one node: `code` is a number of its `table`."""

    plugin: str
    table: StatusTable
    code: int

    @property
    def status(self) -> Status:
        """The status behind the code."""
        return self.table[self.code].by(self.plugin)


@dataclass(slots=True)
class Diagnosis:
    """The rejections of a pod: the first of each node, stored as columns.

    Attributes:
        node_names: the nodes of the list, in its order.
        rejector: int32, shape (nodes,): 0 where no plugin rejected the node, else an index into `plugins` plus 1.
        codes: int32, shape (nodes,): the number of the status in that plugin's table.
        plugins: names of the Filter plugins in the order they ran.
        tables: their status tables.
        absent: the status of nodes about which no plugin was asked (left out by PreFilter), if any.
        prefilter_message: set if PreFilter rejected the pod as a whole.
        postfilter_message: what PostFilter added.
        unschedulable_plugins: every plugin with a rejection; the queue waits for their events.
        pending_plugins: the plugins that answered PENDING.
    """

    node_names: Sequence[str]
    rejector: Codes
    codes: Codes
    plugins: Sequence[str] = ()
    tables: Sequence[StatusTable] = ()
    absent: Status | None = None
    prefilter_message: str = ""
    postfilter_message: str = ""
    unschedulable_plugins: set[str] = field(default_factory=set)
    pending_plugins: set[str] = field(default_factory=set)

    def rejection(self, position: int) -> NodeRejection | None:
        """The plugin's rejection of the node at `position`, if there is one."""
        number = int(self.rejector[position])
        return (
            NodeRejection(self.plugins[number - 1], self.tables[number - 1], int(self.codes[position]))
            if number
            else None
        )

    @property
    def condition_reason(self) -> str:
        """The reason of the pod's condition PodScheduled: another than Unschedulable only if PreFilter names it."""
        return (self.absent.condition_reason if self.absent is not None else "") or UNSCHEDULABLE

    @property
    def passes(self) -> Mask:
        """bool, shape (nodes,): nodes that no plugin rejected, of those in the question."""
        asked: Mask = self.rejector == 0
        return asked if self.absent is None else np.zeros(len(asked), np.bool_)

    def statuses(self) -> Iterator[tuple[str, Status | None]]:
        """Each node's name with its first rejection and who gave it; None for a node that was not rejected."""
        for position, name in enumerate(self.node_names):
            yield name, self._status(position)

    def _status(self, position: int) -> Status | None:
        rejector = int(self.rejector[position])
        if not rejector:
            return self.absent
        return self.tables[rejector - 1][int(self.codes[position])].by(self.plugins[rejector - 1])

    def status_of(self, node_name: str) -> Status | None:
        """The rejection of the node; None for a node that passed, or is not in the list."""
        if node_name not in self.node_names:
            return None
        return self._status(self.node_names.index(node_name))

    def nodes_with(self, code: Code) -> list[str]:
        """Names of the nodes that were rejected with this code, in the order of the list."""
        return [self.node_names[position] for position in np.flatnonzero(self.with_code(code)).tolist()]

    def with_code(self, code: Code) -> Mask:
        """bool, shape (nodes,): nodes that were rejected with this code."""
        hit: Mask = np.full(len(self.node_names), self.absent is not None and self.absent.code is code)
        hit[self.rejector != 0] = False
        for index, table in enumerate(self.tables, start=1):
            mine = self.rejector == index
            hit[mine] = table.with_code(code)[self.codes[mine]]
        return hit

    @classmethod
    def of_statuses(cls, node_names: Sequence[str], statuses: Mapping[str, Status], absent: Status) -> Diagnosis:
        """A diagnosis from a status for each of some nodes; the others have `absent`."""
        table = StatusTable()
        numbers = {
            id(status): table.number(status) for status in {id(each): each for each in statuses.values()}.values()
        }
        codes = np.array([numbers[id(statuses[name])] if name in statuses else 0 for name in node_names], np.int32)
        return cls(node_names, (codes != 0).astype(np.int32), codes, ("",), (table,), absent)

    @classmethod
    def of_two(cls, node_names: Sequence[str], which: Mask, status: Status, absent: Status) -> Diagnosis:
        """A diagnosis with `status` for the nodes of a mask, bool of shape (nodes,), and `absent` for the others."""
        codes = which.astype(np.int32)
        return cls(node_names, codes, codes, ("",), (StatusTable((status,)),), absent)

    def counts(self) -> Sequence[tuple[Status, int]]:
        """The statuses with which nodes were rejected, and the number of these nodes."""
        found: list[tuple[Status, int]] = []
        for index, table in enumerate(self.tables, start=1):
            numbers = np.bincount(self.codes[self.rejector == index])
            found += [(table[number], int(numbers[number])) for number in np.flatnonzero(numbers).tolist()]
        unasked = int(np.count_nonzero(self.rejector == 0))
        if unasked and self.absent is not None:
            found.append((self.absent, unasked))
        return found


NO_NODES = "no nodes available to schedule pods"


def fit_error(diagnosis: Diagnosis) -> str:
    """kube-scheduler's FitError: `0/5 nodes are available: 1 Insufficient cpu, 4 node(s) had untolerated taint(s).`"""
    text = f"0/{len(diagnosis.node_names)} nodes are available:"
    if diagnosis.prefilter_message:
        text += f" {cut(diagnosis.prefilter_message)}."
    else:
        reasons: dict[str, int] = {}
        for status, count in diagnosis.counts():
            for reason in status.reasons:
                reasons[reason] = reasons.get(reason, 0) + count
        parts = sorted(f"{count} {reason}" for reason, count in reasons.items())
        if parts:
            text += f" {cut(', '.join(parts))}."
    return with_post_filter(text, diagnosis.postfilter_message)


def with_post_filter(text: str, message: str) -> str:
    """The text of a diagnosis followed by PostFilter's text."""
    return f"{text} {message}" if message else text


def fit_error_of_one(status: Status) -> str:
    """The text for a pod that was rejected after a node had been chosen: `0/1 nodes are available: 1 <reason>.`"""
    none = np.zeros(1, np.int32)
    return fit_error(Diagnosis([""], none, none, absent=status))
