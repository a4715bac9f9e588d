"""`muster defrag`: which running pods to move so that what waits starts, or so that nodes become free."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from muster.framework.config import ConfigurationError
from muster.operator.defrag.carrying import CarriedOut, MoveCarrier
from muster.operator.defrag.live import live_cluster
from muster.operator.defrag.planner import propose
from muster.operator.defrag.proposal import DefragReport, MoveProposal
from muster.operator.defrag.question import NODES, ClusterPicture, DefragQuestion
from muster.operator.defrag.recheck import ProposedMoves
from muster.operator.defrag.tables import report_lines
from muster.operator.explain.served import Leader
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import ApiError
from muster.operator.process.settings import Assembly
from muster.operator.simulate.live import extender_session, read_cluster
from muster.operator.simulate.manifests import ManifestError, Objects, read
from muster.operator.simulate.sources import texts
from muster.operator.simulate.wording import counted
from muster.plugins.catalog import POD_DISRUPTION_BUDGETS

from .common import BadInputError, Target, bad_input, leader_options, target_options
from .output import Output, busy, emit, emit_lines, output_option
from .rules import ConfigurationOptions, rules_options

_NO_MOVES = 1


@click.command("defrag")
@click.option(
    "--group",
    "--pod",
    "start",
    metavar="NS/NAME",
    help="What is to start: a PodGroup or a pod that waits. Default: the first in the queue that moves can help.",
)
@click.option(
    "--free",
    metavar=f"{NODES}|LABEL",
    help="Instead: what is to become free, nodes or the domains of a label, e.g. topology.kubernetes.io/zone.",
)
@click.option("--count", type=click.IntRange(1), default=1, help="With --free: how many of them. Default: 1.")
@click.option(
    "--from",
    "dump",
    type=click.Path(path_type=Path),
    metavar="DUMP",
    help="Use this cluster: the output of `kubectl get -A -o json nodes,pods,podgroups,pdb,pvc,pv,sc,priorityclasses`. "
    "Default: the live one.",
)
@click.option("--apply", is_flag=True, help="Carry the proposal out: evict the pods, one step after another.")
@click.option("--yes", is_flag=True, help="With --apply: do not ask for confirmation.")
@click.option(
    "--timeout",
    type=click.IntRange(1),
    default=300,
    metavar="SECONDS",
    help="With --apply: how long a pod may take to be replaced, and what waits to start. Default: 300.",
)
@output_option(Output.WIDE, Output.YAML, Output.JSON)
@rules_options
@target_options
@leader_options
def command(
    *,
    target: Target,
    leader: Leader | None,
    start: str | None,
    free: str | None,
    count: int,
    dump: Path | None,
    output: Output,
    choice: ConfigurationOptions,
    **applying: Any,
) -> None:
    """Propose the fewest pods to move so that a waiting PodGroup or pod starts, or so that nodes become free.

    The engine tries every proposal: all moved pods fit elsewhere, budgets, minimum run times and quotas hold, and gangs
    are moved as a whole. Exit code 1 when no moves are proposed.

    Nothing is written without --apply. With it, the nodes that are to be free are cordoned, the pods are evicted, their
    controllers replace them, and the nodes are uncordoned. Before each step the cluster is read and tried again; if the
    moves would not help any more, or a budget refuses one, everything stops, with exit code 1.
    """
    question, how = _question(start, free, count), _Applying(**applying)
    if how.apply and (dump is not None or output.document):
        raise click.UsageError("--apply changes the live cluster, and prints its steps: leave out --from and -o")
    with bad_input():
        rules = choice.rules(leader, None if leader is None else target.connection())
        source = target.connection() if dump is None else _read(rules.assembly, dump)
    with _failures(), busy("looking for moves"):
        picture, report = asyncio.run(_propose(rules.assembly, source, question))
    if output.document:
        emit(report, output)
    else:
        emit_lines(report_lines(report, wide=output is Output.WIDE))
    rules.warn()
    if report.proposal is None:
        raise SystemExit(_NO_MOVES)
    if how.apply and isinstance(source, Connection):
        how.confirm(report.proposal)
        with _failures():
            ended = asyncio.run(_carry_out(source, ProposedMoves(report.proposal, picture), how.timeout))
        if ended.stopped:
            raise click.ClickException(f"{counted(ended.moved, 'pod')} moved, then stopped: {ended.stopped}")


@dataclass(frozen=True, slots=True)
class _Applying:
    """The options about carrying a proposal out."""

    apply: bool
    yes: bool
    timeout: int

    def confirm(self, proposal: MoveProposal) -> None:
        """Ask whether to carry it out, unless `--yes` says so. Raises Abort for no."""
        if not self.yes:
            click.confirm(f"Evict {counted(len(proposal.moves), 'pod')}?", abort=True)


@contextmanager
def _failures() -> Iterator[None]:
    """Report errors of the configuration and of the API by a message."""
    try:
        yield
    except ConfigurationError as error:
        raise BadInputError(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error


def _question(start: str | None, free: str | None, count: int) -> DefragQuestion:
    """The question. Raises UsageError for options that contradict each other."""
    if start and free:
        raise click.UsageError("give either --group or --free")
    if start is not None and start.count("/") != 1:
        raise click.UsageError("--group needs NAMESPACE/NAME")
    if count > 1 and not free:
        raise click.UsageError("--count needs --free")
    return DefragQuestion(start or "", free or "", count)


def _read(assembly: Assembly, dump: Path) -> Objects:
    """The cluster in the file. Raises BadInputError."""
    found = Objects()
    kinds = (*assembly.read(), POD_DISRUPTION_BUDGETS)
    try:
        for source, text in texts(str(dump)):
            found.extend(read(text, source, kinds, kinds=assembly.groups, whole=bool(assembly.configuration.extenders)))
    except ManifestError as error:
        raise BadInputError(str(error)) from error
    if not found.nodes:
        raise BadInputError(f"no nodes in {dump}")
    return found


async def _propose(
    assembly: Assembly, source: Connection | Objects, question: DefragQuestion
) -> tuple[ClusterPicture, DefragReport]:
    kinds = (*assembly.read(), POD_DISRUPTION_BUDGETS)
    cluster = source if isinstance(source, Objects) else await read_cluster(source, kinds)
    async with extender_session(cluster, assembly.configuration, source) as session:
        picture = ClusterPicture(assembly, cluster, time.time(), session)
        return picture, await propose(picture, question)


async def _carry_out(connection: Connection, proposed: ProposedMoves, patience: float) -> CarriedOut:
    assembly, cluster = proposed.picture.assembly, proposed.picture.cluster
    async with (
        extender_session(cluster, assembly.configuration, connection) as session,
        live_cluster(connection, assembly, session) as live,
    ):
        return await MoveCarrier(live, proposed, tell=click.echo, patience=patience).run()
