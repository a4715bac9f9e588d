"""`muster top`: the queue and the groups as a program in a terminal."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from contextlib import AsyncExitStack

import click
from rich.console import Console

from muster.framework.config import ConfigurationError
from muster.operator.explain.served import Leader
from muster.operator.kube.client import ApiClient
from muster.operator.kube.transport import Transport
from muster.operator.top.session import TopSession
from muster.operator.top.terminal import on_terminal, reading
from muster.operator.web.change_log import ChangeLog
from muster.operator.web.remote_cluster import ClusterOptions, RemoteCluster
from muster.operator.web.stream import Ticker

from .common import BadInputError, Target, bad_input, errors_of, leader_options, one_namespace_option, target_options
from .effective_configuration import ConfigurationOptions, configuration_options

_POLL_SECONDS = 0.5
_NO_TERMINAL = "muster top draws on a terminal, and {} is none; muster groups prints lines"


@click.command("top")
@one_namespace_option
@configuration_options
@target_options
@leader_options
def command(*, target: Target, leader: Leader | None, namespace: str | None, choice: ConfigurationOptions) -> None:
    """Show queue and groups in the terminal, and why each of them waits.

    Arrows or j and k select, enter opens the explanation of a pod or group, esc goes back, / filters, s sorts by the
    next column, q quits. The screen follows what your kubeconfig may read. Nothing is written.

    Decides by the configuration of --config, or of the leader at --muster-url; else by Muster's default profile.
    """
    console = Console()
    for name, stream in (("standard input", sys.stdin), ("standard output", sys.stdout)):
        if not stream.isatty():
            raise BadInputError(_NO_TERMINAL.format(name))
    if console.is_dumb_terminal:
        raise BadInputError(
            "muster top cannot draw on a terminal of the type that TERM names; muster groups prints lines"
        )
    with bad_input():
        connection = target.connection()
        rules = choice.rules(leader, connection)
        options = ClusterOptions(
            connection=connection, assembly=rules.assembly, namespace=namespace or "", leader=leader
        )
    logging.disable()  # lines of a log would spoil the screen, which names what cannot be read
    try:
        asyncio.run(_show(options, console, rules.caution))
    except ConfigurationError as error:
        raise BadInputError(*errors_of(error)) from error


async def _show(options: ClusterOptions, console: Console, caution: str) -> None:
    """Show the cluster until the user quits, or a signal ends the process in good order."""
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        transport = await stack.enter_async_context(Transport(options.connection))
        cluster = RemoteCluster(options, ApiClient(transport))
        stack.push_async_callback(cluster.stop)
        await cluster.start()
        ticker = Ticker(cluster, ChangeLog(), wall=time.time, every=_POLL_SECONDS)
        await ticker.poll()
        ticking = asyncio.create_task(ticker.run())
        stack.callback(ticking.cancel)
        screen = stack.enter_context(on_terminal(console))
        where = f"namespace {options.namespace}" if options.namespace else "all namespaces"
        about = f"{options.connection.server}, {where}"
        session = TopSession(cluster, ticker, screen, about=about, caution=caution, wall=time.time)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, session.end)
        loop.add_signal_handler(signal.SIGWINCH, session.redraw)
        stack.enter_context(reading(sys.stdin.fileno(), session.take, session.end))
        await session.run()
