"""`muster demo`: the scheduler at work on an embedded cluster."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from muster.operator import app, logs
from muster.operator.demo.cluster import Cluster, StoryError
from muster.operator.demo.story import tell
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import load_connection
from muster.operator.kube.transport import Transport
from muster.operator.process.settings import assemble, muster_configuration
from muster.operator.sandbox import Sandbox
from muster.operator.sandbox.nodes import NodeShape

_NODES = 100
_NODE_CPUS = 4
_PATIENCE_SECONDS = 60.0


@click.command("demo")
@click.option("--once", is_flag=True, help="End after the story; exit code 0 only if all of it happened.")
def command(once: bool) -> None:
    """Watch Muster at work on an embedded cluster of 100 nodes. Needs no cluster, no root, no network.

    Plain pods are bound, a gang of 8 starts at once, a gang that does not fit waits whole and says why, room is made,
    and it starts. Then everything stays up until Ctrl-C, for your own kubectl.
    """
    logs.configure(verbosity=0, style="text", stream=sys.stderr)
    logging.getLogger(logs.OWN).setLevel(logging.WARNING)
    try:
        asyncio.run(_demo(Console(), once=once))
    except StoryError as error:
        raise click.ClickException(f"the story went wrong: {error}") from error
    except KeyboardInterrupt:
        click.echo("\nended")


async def _demo(console: Console, *, once: bool) -> None:
    sandbox = Sandbox()
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
                    cluster = Cluster(
                        ApiClient(transport), assembly.profiles[0].scheduler_name, patience=_PATIENCE_SECONDS
                    )
                    await _watching(scheduler, tell(cluster, console, node_cpus=_NODE_CPUS, nodes=_NODES))
                if not once:
                    console.rule("Your turn")
                    console.print("Everything stays up until Ctrl-C. In another terminal:\n")
                    console.print(f"  export KUBECONFIG={kubeconfig}", soft_wrap=True)
                    console.print("  kubectl get podgroups -o wide\n  kubectl describe pod big-0\n")
                    await scheduler
            finally:
                scheduler.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await scheduler


async def _watching(scheduler: asyncio.Task[None], story: Coroutine[Any, Any, None]) -> None:
    """Run the story; a scheduler that ends before it has spoiled it."""
    telling = asyncio.create_task(story)
    await asyncio.wait((telling, scheduler), return_when=asyncio.FIRST_COMPLETED)
    if not telling.done():
        telling.cancel()
        await scheduler
        raise StoryError("the scheduler ended")
    await telling
