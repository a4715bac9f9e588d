"""`muster demo`: the scheduler at work on an embedded cluster."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from shlex import quote
from typing import Any, TypeVarTuple

import click
from rich.console import Console

from muster.framework.runtime import call_watch
from muster.operator import app, logs
from muster.operator.demo.cluster import DemoCluster, StoryError
from muster.operator.demo.story import WAITING, play
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import load_connection
from muster.operator.kube.transport import Transport
from muster.operator.process import watchdog
from muster.operator.process.settings import assemble, muster_configuration
from muster.plugins.catalog import definitions
from muster.sandbox import NodeShape, Sandbox

_NODES = 100
_NODE_CPUS = 4
_PATIENCE_SECONDS = 60.0
_INTERRUPTED = 1
Ts = TypeVarTuple("Ts")
_END_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@click.command("demo")
@click.option("--once", is_flag=True, help="End after the story; exit code 0 only if all of it happened.")
def command(once: bool) -> None:
    """Watch Muster at work on an embedded cluster of 100 nodes. Needs no cluster, no root, no network.

    Plain pods are bound, and a gang of 8 starts at once. A gang that does not fit waits as a whole and says why; once
    capacity is free, it starts. Then everything stays up until Ctrl-C, for your own kubectl, with one more gang that
    waits.
    """
    logs.configure(verbosity=0, style="text", stream=sys.stderr)
    logging.getLogger(logs.OWN).setLevel(logging.WARNING)
    # The cluster runs on the scheduler's loop here, so a blocked loop or a slow call is no sign of a problem in Muster.
    for watch in (watchdog, call_watch):
        logging.getLogger(watch.__name__).setLevel(logging.ERROR)
    console = Console()
    try:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            completed = runner.run(_until_signal(console, _demo(console, once=once)))
    except StoryError as error:
        raise click.ClickException(f"the story went wrong: {error}") from error
    if not completed:
        console.print("ended")
        if once:
            raise SystemExit(_INTERRUPTED)


class _Loop(asyncio.SelectorEventLoop):
    """Reserves SIGINT and SIGTERM for the demo: kopf would take them, and wait for the sandbox's tasks,
    which are on this loop, as if they were its own.
    """

    def add_signal_handler(self, sig: int, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        if sig not in _END_SIGNALS:
            super().add_signal_handler(sig, callback, *args)

    def on_end(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the process receives SIGINT or SIGTERM."""
        for number in _END_SIGNALS:
            super().add_signal_handler(number, callback)


async def _until_signal(console: Console, work: Coroutine[Any, Any, None]) -> bool:
    """Await the work until it completes or a signal ends it; returns whether it completed."""
    task = asyncio.create_task(work)
    ended = asyncio.Event()

    def end() -> None:
        if not ended.is_set():
            ended.set()
            logging.disable()  # kopf complains of each request that is cut off by its own end
            console.print("\nending …")
            task.cancel()

    loop = asyncio.get_running_loop()
    assert isinstance(loop, _Loop)
    loop.on_end(end)
    try:
        await task
    except asyncio.CancelledError:
        if not ended.is_set():
            raise
        return False
    return True


async def _demo(console: Console, *, once: bool) -> None:
    sandbox = Sandbox(definitions())
    sandbox.nodes(_NODES, shape=NodeShape(cpu=str(_NODE_CPUS)))
    with tempfile.TemporaryDirectory(prefix="muster-demo-") as folder:
        async with sandbox:
            kubeconfig = sandbox.kubeconfig(Path(folder, "kubeconfig"))
            connection = load_connection(kubeconfig)
            assembly = assemble(muster_configuration())
            scheduler = asyncio.create_task(app.operate(assembly, connection, app.Serving("127.0.0.1", 0)))
            try:
                console.print(f"An embedded cluster of {_NODES} nodes with {_NODE_CPUS} cores each; Muster runs on it.")
                async with Transport(connection) as transport:
                    cluster = DemoCluster(
                        ApiClient(transport), assembly.profiles[0].scheduler_name, patience=_PATIENCE_SECONDS
                    )
                    await _watching(scheduler, play(cluster, console, node_cpus=_NODE_CPUS, nodes=_NODES))
                if not once:
                    _invite(console, kubeconfig)
                    await scheduler
            finally:
                scheduler.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await scheduler


def _invite(console: Console, kubeconfig: Path) -> None:
    """Print what the user may do with the cluster."""
    console.rule("Your turn")
    console.print(
        f"Everything stays up until Ctrl-C, and {WAITING} still waits.\nIn another terminal, in this folder:\n"
    )
    for line in (
        f"export KUBECONFIG={quote(str(kubeconfig))}",
        f"export PATH={quote(str(Path(sys.executable).parent))}:$PATH",
        "kubectl get podgroups -o wide",
        f"kubectl muster why {WAITING}",
        "kubectl describe pod big-0",
        "kubectl apply -f deploy/examples/first-gang.yaml",
    ):
        console.print(f"  {line}", soft_wrap=True, highlight=False)
    console.print()


async def _watching(scheduler: asyncio.Task[None], story: Coroutine[Any, Any, None]) -> None:
    """Run the story. Raises StoryError if the scheduler ends before it."""
    playing = asyncio.create_task(story)
    try:
        await asyncio.wait((playing, scheduler), return_when=asyncio.FIRST_COMPLETED)
        if not playing.done():
            await scheduler
            raise StoryError("the scheduler ended")
        await playing
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
