"""`muster sandbox`: the embedded Kubernetes API, without a scheduler."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import click
import msgspec

from muster.framework.config.document import read_document
from muster.operator import logs
from muster.plugins.catalog import definitions
from muster.sandbox import HOST, DumpError, Sandbox

from .common import BadInputError, bad_input


@click.command("sandbox")
@click.option("--nodes", type=click.IntRange(0), metavar="N", help="Begin with N synthetic nodes. Default: 3.")
@click.option(
    "--from",
    "dump",
    type=click.Path(path_type=Path),
    metavar="DUMP",
    help="Begin with a real cluster's objects: the output of `kubectl get KINDS -A -o json`.",
)
@click.option("--native-groups", is_flag=True, help="Serve the groups and Workloads of scheduling.k8s.io too.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to serve on 127.0.0.1. Default: any.")
@click.option("--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="Write the kubeconfig here.")
def command(*, nodes: int | None, dump: Path | None, native_groups: bool, port: int, kubeconfig: Path | None) -> None:
    """Serve an in-memory Kubernetes API until Ctrl-C, for trying, teaching and testing; never for production.

    Stock kubectl works on it, and everybody may do everything. Stand-ins for kubelets and controllers mark pods that
    get a node Running, and make the pods of Deployments, Jobs and other workloads.
    """
    if nodes is not None and dump is not None:
        raise click.UsageError("--nodes and --from exclude each other")
    logs.configure(verbosity=0, style="text", stream=sys.stderr)
    with bad_input():
        objects = _objects(dump) if dump is not None else []
    sandbox = Sandbox(definitions(), native_groups=native_groups, port=port)
    try:
        loaded = sandbox.load(objects)
    except DumpError as error:
        raise BadInputError(f"{dump}: {error}") from error
    for kind, count in sorted(loaded.skipped.items()):
        click.echo(f"left out: {count} of {kind}", err=True)
    if dump is None:
        sandbox.nodes(3 if nodes is None else nodes)
    with bad_input():
        asyncio.run(_serve(sandbox, port, kubeconfig))
    click.echo("\nended")


async def _serve(sandbox: Sandbox, port: int, kubeconfig: Path | None) -> None:
    """Serve until SIGINT or SIGTERM."""
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-sandbox-"))
        try:
            await stack.enter_async_context(sandbox)
        except OSError as error:
            raise BadInputError(f"{HOST}:{port}: {os.strerror(error.errno or 0)}") from error
        path = sandbox.kubeconfig(kubeconfig or Path(folder, "kubeconfig")).absolute()
        click.echo(f"serving {sandbox.url} until Ctrl-C\n\n  export KUBECONFIG={path}\n  kubectl get nodes\n")
        await over.wait()


def _objects(dump: Path) -> list[dict[str, object]]:
    text = dump.read_bytes()
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        found = read_document(text, str(dump)).value
    if not isinstance(found, dict):
        raise BadInputError(f"{dump}: not a Kubernetes object or list")
    return [found]
