"""The answer about moves as a table with sentences, for the command."""

from __future__ import annotations

from collections.abc import Iterator

from muster.operator.explain.layout import NONE, lines, printable

from .proposal import DefragReport, MoveProposal

_MOST_PASSED_OVER = 10


def report_lines(report: DefragReport, *, wide: bool) -> Iterator[str]:
    """What was looked at in vain, then the moves and what they reach. `wide` names all that was looked at."""
    passed_over, proposal = report.passed_over, report.proposal
    shown = passed_over if wide else passed_over[:_MOST_PASSED_OVER]
    yield from (printable(f"{each.name}: {each.reason}") for each in shown)
    if len(shown) < len(passed_over):
        yield f"and {len(passed_over) - len(shown)} more, which -o wide names"
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
