"""`muster defrag`: which running pods to move so that what waits starts, or so that nodes become free."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from muster.framework.config import ConfigurationError
from muster.framework.contract import WatchedKind
from muster.operator.defrag.carrying import CarriedOut, MoveCarrier
from muster.operator.defrag.live import live_cluster
from muster.operator.defrag.planner import propose
from muster.operator.defrag.proposal import DefragReport
from muster.operator.defrag.question import ClusterPicture, DefragQuestion
from muster.operator.defrag.recheck import ProposedMoves
from muster.operator.defrag.tables import report_lines
from muster.operator.explain.layout import printable
from muster.operator.explain.served import Leader
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import ApiError
from muster.operator.process.settings import Assembly
from muster.operator.simulate.live import extender_session, read_cluster
from muster.operator.simulate.manifests import Objects
from muster.operator.simulate.wording import counted
from muster.plugins.catalog import POD_DISRUPTION_BUDGETS

from .common import BadInputError, Target, bad_input, leader_options, target_options
from .effective_configuration import ConfigurationOptions, configuration_options
from .files import dumped_cluster
from .moves import Applying, applying_options, question_options
from .output import Output, busy, emit, emit_lines, output_option

_NO_MOVES = 1


@click.command("defrag")
@question_options
@click.option(
    "--from",
    "dump",
    type=click.Path(path_type=Path),
    metavar="DUMP",
    help="Use this cluster: the output of `kubectl get -A -o json nodes,pods,podgroups,pdb,pvc,pv,sc,priorityclasses`. "
    "Default: the live one.",
)
@applying_options
@output_option(Output.WIDE, Output.YAML, Output.JSON)
@configuration_options
@target_options
@leader_options
def command(
    *,
    target: Target,
    leader: Leader | None,
    question: DefragQuestion,
    dump: Path | None,
    how: Applying,
    output: Output,
    choice: ConfigurationOptions,
) -> None:
    """Propose the fewest pods to move so that a waiting PodGroup or pod starts, or so that nodes become free.

    The engine tries every proposal: all moved pods fit elsewhere, budgets, minimum run times and quotas hold, and gangs
    are moved as a whole. Exit code 1 when no moves are proposed.

    Nothing is written without --apply. With it, the nodes that are to be free are cordoned, the pods are evicted, their
    controllers replace them, and the nodes are uncordoned. Before each step the cluster is read and tried again; if the
    moves would not help any more, or a budget refuses one, everything stops, with exit code 1.
    """
    if how.apply and (dump is not None or output.document):
        raise click.UsageError("--apply changes the live cluster, and prints its steps: leave out --from and -o")
    with bad_input():
        rules = choice.rules(leader, None if leader is None else target.connection())
        assembly = rules.assembly
        source = target.connection() if dump is None else dumped_cluster(dump, assembly, _kinds(assembly))
    with _failures(), busy("looking for moves"):
        picture, report = asyncio.run(_propose(assembly, source, question))
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
            raise click.ClickException(f"{counted(ended.moved, 'pod')} moved, then stopped: {printable(ended.stopped)}")


@contextmanager
def _failures() -> Iterator[None]:
    """Report errors of the configuration and of the API by a message."""
    try:
        yield
    except ConfigurationError as error:
        raise BadInputError(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error


def _kinds(assembly: Assembly) -> tuple[WatchedKind, ...]:
    """The kinds that a proposal depends on, beside nodes and pods."""
    return (*assembly.kinds_to_read(), POD_DISRUPTION_BUDGETS)


async def _propose(
    assembly: Assembly, source: Connection | Objects, question: DefragQuestion
) -> tuple[ClusterPicture, DefragReport]:
    cluster = source if isinstance(source, Objects) else await read_cluster(source, _kinds(assembly))
    async with extender_session(cluster, assembly.configuration, source) as session:
        picture = ClusterPicture(assembly, cluster, time.time(), session)
        return picture, await propose(picture, question)


async def _carry_out(connection: Connection, proposed: ProposedMoves, patience: float) -> CarriedOut:
    assembly, cluster = proposed.picture.assembly, proposed.picture.cluster
    async with (
        extender_session(cluster, assembly.configuration, connection) as session,
        live_cluster(connection, assembly, session) as live,
    ):
        return await MoveCarrier(live, proposed, tell=_tell, patience=patience).run()


def _tell(line: str) -> None:
    click.echo(printable(line))
