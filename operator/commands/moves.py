"""The options of `muster defrag`: the goal of the moves, and whether and how to carry them out.

The command takes them as two values, `DefragQuestion` and `Applying`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from muster.operator.defrag.proposal import MoveProposal
from muster.operator.defrag.question import NODES, DefragQuestion
from muster.operator.simulate.wording import counted


@dataclass(frozen=True, slots=True)
class Applying:
    """Whether a proposal is carried out, whether without a confirmation, and how many seconds each step may take."""

    apply: bool
    yes: bool
    timeout: int

    def confirm(self, proposal: MoveProposal) -> None:
        """Ask whether to carry it out, unless `--yes` says so. Raises Abort for no."""
        if not self.yes:
            click.confirm(f"Evict {counted(len(proposal.moves), 'pod')}?", abort=True)


def question_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the aim of moves to a command, which gets them as `question`."""

    @wraps(command)
    def called(start: str | None, free: str | None, count: int, **rest: Any) -> None:
        command(question=_question(start, free, count), **rest)

    options = (
        click.option(
            "--group",
            "--pod",
            "start",
            metavar="NS/NAME",
            help="What is to start: a PodGroup or a pod that waits. Default: the first in the queue that moves help.",
        ),
        click.option(
            "--free",
            metavar=f"{NODES}|LABEL",
            help="Instead: what is to become free, nodes or the domains of a label, e.g. topology.kubernetes.io/zone.",
        ),
        click.option("--count", type=click.IntRange(1), default=1, help="With --free: how many of them. Default: 1."),
    )
    return _with(options, called)


def applying_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for carrying out a proposal to a command, which gets them as `how`."""

    @wraps(command)
    def called(apply: bool, yes: bool, timeout: int, **rest: Any) -> None:
        command(how=Applying(apply, yes, timeout), **rest)

    options = (
        click.option("--apply", is_flag=True, help="Carry the proposal out: evict the pods, one step after another."),
        click.option("--yes", is_flag=True, help="With --apply: do not ask for confirmation."),
        click.option(
            "--timeout",
            type=click.IntRange(1),
            default=300,
            metavar="SECONDS",
            help="With --apply: how long a pod may take to be replaced, and what waits to start. Default: 300.",
        ),
    )
    return _with(options, called)


def _with(options: tuple[Callable[..., Any], ...], command: Callable[..., None]) -> Callable[..., None]:
    decorated = command
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def _question(start: str | None, free: str | None, count: int) -> DefragQuestion:
    """The question. Raises UsageError for options that contradict each other."""
    if start and free:
        raise click.UsageError("give either --group or --free")
    if start is not None and start.count("/") != 1:
        raise click.UsageError("--group needs NAMESPACE/NAME")
    if count > 1 and not free:
        raise click.UsageError("--count needs --free")
    return DefragQuestion(start or "", free or "", count)
