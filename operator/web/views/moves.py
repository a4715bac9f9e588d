"""The page of moves: which pods would have to move so that what waits starts, or so that nodes become free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muster.operator.defrag.proposal import DefragReport, MoveProposal
from muster.operator.defrag.question import NODES, DefragQuestion

from ..cluster import Unavailable
from .parts import Link, key_link, node_link

_MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class MoveRow:
    """A pod that would move."""

    pod: Link
    node: Link
    to: Link
    group: str
    priority: int
    controller: str


@dataclass(frozen=True, slots=True)
class MovesPage:
    """The contents of the page.

    Attributes:
        title: what is asked for.
        rows: the moves.
        sentences: what they reach, or why there are none.
        unhelped: what moves do not help, as pairs of a name and a reason.
        hidden: how many of these are not listed.
        command: the command that carries the moves out; "" without moves.
        choices: what may be freed, as pairs of the value and its words; the first is for what waits.
        free: the choice that is shown.
    """

    title: str
    rows: Sequence[MoveRow]
    sentences: Sequence[str]
    unhelped: Sequence[tuple[str, str]]
    hidden: int
    command: str
    choices: Sequence[tuple[str, str]]
    free: str


def moves_page(question: DefragQuestion, report: DefragReport | Unavailable, labels: Sequence[str]) -> MovesPage:
    """Compute the page; `labels` are those of nodes whose domains may be freed."""
    proposal = report.proposal if isinstance(report, DefragReport) else None
    unhelped = report.unhelped if isinstance(report, DefragReport) else ()
    return MovesPage(
        title=_title(question),
        rows=[] if proposal is None else _rows(proposal),
        sentences=_sentences(report),
        unhelped=[(each.name, each.reason) for each in unhelped[:_MOST_ROWS]],
        hidden=max(len(unhelped) - _MOST_ROWS, 0),
        command="" if proposal is None else _command(question, proposal),
        choices=[("", "what waits"), (NODES, "a node"), *((label, f"a domain of {label}") for label in labels)],
        free=question.free,
    )


def _title(question: DefragQuestion) -> str:
    if question.free:
        return "Moves that free a node" if question.free == NODES else f"Moves that free a domain of {question.free}"
    return f"Moves for {question.start}" if question.start else "Moves for what waits"


def _rows(proposal: MoveProposal) -> list[MoveRow]:
    return [
        MoveRow(
            key_link(each.pod), node_link(each.node), node_link(each.to), each.group, each.priority, each.controller
        )
        for each in proposal.moves
    ]


def _sentences(report: DefragReport | Unavailable) -> list[str]:
    if isinstance(report, Unavailable):
        return [report.reason]
    if report.proposal is None:
        return ["No moves are proposed." if report.unhelped else "Nothing waits that moves could help."]
    return [*report.proposal.sentences]


def _command(question: DefragQuestion, proposal: MoveProposal) -> str:
    aim = f"--free {question.free}" if question.free else f"--group {proposal.starts}"
    return f"muster defrag {aim} --apply"
