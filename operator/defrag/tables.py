"""The answer about moves as a table with sentences, for the command."""

from __future__ import annotations

from collections.abc import Iterator

from muster.operator.explain.layout import NONE, lines, printable

from .proposal import DefragReport, MoveProposal

_MOST_UNHELPED = 10


def report_lines(report: DefragReport, *, wide: bool) -> Iterator[str]:
    """The candidates that moves do not help, then the moves and their result. `wide` names all that was looked at."""
    unhelped, proposal = report.unhelped, report.proposal
    shown = unhelped if wide else unhelped[:_MOST_UNHELPED]
    yield from (printable(f"{each.name}: {each.reason}") for each in shown)
    if len(shown) < len(unhelped):
        yield f"and {len(unhelped) - len(shown)} more, which -o wide names"
    if proposal is None:
        yield "No moves are proposed."
        return
    if shown:
        yield ""
    yield from move_lines(proposal)
    yield ""
    yield from map(printable, proposal.sentences)


def move_lines(proposal: MoveProposal) -> Iterator[str]:
    """The table of moves."""
    rows = [
        (each.pod, each.node, each.to, each.group or NONE, str(each.priority), each.controller or NONE)
        for each in proposal.moves
    ]
    return lines(("POD", "NODE", "TO", "PODGROUP", "PRIORITY", "CONTROLLER"), rows)
