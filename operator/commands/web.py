"""`muster web`: the queue, the nodes and the reasons, as pages in a browser."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, closing, contextmanager
from pathlib import Path

import click

from muster.framework.config import ConfigurationError
from muster.operator import logs
from muster.operator.explain.served import Leader
from muster.operator.kube.client import ApiClient
from muster.operator.kube.transport import Transport
from muster.operator.serving import ListenError, Server
from muster.operator.web.cluster_history import ClusterHistory
from muster.operator.web.history_file import HistoryError, HistoryFile
from muster.operator.web.remote_cluster import ClusterOptions, RemoteCluster
from muster.operator.web.routes import Clocks, PageRoutes
from muster.operator.web.safety import KEY, only_with

from .common import BadInputError, Target, bad_input, errors_of, leader_options, one_namespace_option, target_options
from .effective_configuration import ConfigurationOptions, EffectiveConfiguration, configuration_options

_HOST = "127.0.0.1"
_KEY_BYTES = 16


@click.command("web")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to serve on 127.0.0.1. Default: any.")
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep a day of history in this file, which is created if it does not exist, and draw it.",
)
@one_namespace_option
@configuration_options
@target_options
@leader_options
def command(
    *,
    target: Target,
    leader: Leader | None,
    port: int,
    history: Path | None,
    namespace: str | None,
    choice: ConfigurationOptions,
) -> None:
    """Serve pages on 127.0.0.1 until Ctrl-C: what waits and why, where capacity is free, what changed.

    They show what your kubeconfig may read, and follow it. Nothing is written to the cluster. Open the address that is
    printed: its key keeps other users of this machine out.

    Decides by the configuration of --config, or of the leader at --muster-url; else by Muster's default profile.
    """
    logs.configure(verbosity=0, style="text", stream=sys.stderr)
    # Kinds that the API does not have, and what was read, are in the pages; here they would look like errors.
    logging.getLogger(logs.OWN).setLevel(logging.WARNING)
    with bad_input():
        connection = target.connection()
        rules = choice.rules(leader, connection)
        options = ClusterOptions(
            connection=connection, assembly=rules.assembly, namespace=namespace or "", leader=leader
        )
    try:
        with ExitStack() as opened:
            kept = None if history is None else opened.enter_context(_opened(history, options))
            asyncio.run(_serve(options, port, kept, rules))
    except ConfigurationError as error:
        raise BadInputError(*errors_of(error)) from error
    except ListenError as error:
        raise BadInputError(str(error)) from error
    click.echo("\nended")


@contextmanager
def _opened(path: Path, options: ClusterOptions) -> Iterator[ClusterHistory]:
    """The history in this file while the block lasts. Raises BadInputError for a file that cannot be used."""
    try:
        file = HistoryFile(path, _about(options))
    except HistoryError as error:
        raise BadInputError(f"--history {error}") from error
    with closing(file):
        try:
            history = ClusterHistory(file, file.read(time.time()))
        except HistoryError as error:
            raise BadInputError(f"--history {error}") from error
        yield history


async def _serve(
    options: ClusterOptions, port: int, history: ClusterHistory | None, rules: EffectiveConfiguration
) -> None:
    """Serve until SIGINT or SIGTERM."""
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    key = secrets.token_urlsafe(_KEY_BYTES)
    async with AsyncExitStack() as stack:
        transport = await stack.enter_async_context(Transport(options.connection))
        cluster = RemoteCluster(options, ApiClient(transport))
        clocks = Clocks(wall=time.time, timer=time.monotonic)
        pages = PageRoutes(cluster, time=clocks, about=_about(options), history=history)
        server = Server(pages.application([only_with(key)]), host=_HOST, port=port, tls=None)
        chosen = await server.start()
        stack.push_async_callback(server.stop)
        stack.push_async_callback(cluster.stop)
        await cluster.start()
        await pages.ticker.poll()
        ticking = asyncio.create_task(pages.ticker.run())
        stack.callback(ticking.cancel)
        if history is not None:
            await history.keep(await pages.sample())
            keeping = asyncio.create_task(history.run(pages.sample))
            stack.callback(keeping.cancel)
        click.echo(f"serving until Ctrl-C, open http://{_HOST}:{chosen}/?{KEY}={key}")
        rules.warn()
        await over.wait()


def _about(options: ClusterOptions) -> str:
    where = f"namespace {options.namespace}" if options.namespace else "all namespaces"
    return f"{options.connection.server}, {where}"
