"""`muster sandbox`: the embedded Kubernetes API, by itself."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import click
import msgspec
import yaml

from muster.operator import logs
from muster.operator.sandbox import Sandbox

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
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to serve on 127.0.0.1. Default: any.")
@click.option("--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="Write the kubeconfig here.")
def command(nodes: int | None, dump: Path | None, port: int, kubeconfig: Path | None) -> None:
    """Serve an in-memory Kubernetes API until Ctrl-C, for trying, teaching and testing; never for production.

    Stock kubectl works on it. Pods that get a node are marked Running by a stand-in for the kubelet.
    """
    if nodes is not None and dump is not None:
        raise click.UsageError("--nodes and --from exclude each other")
    logs.configure(verbosity=0, style="text", stream=sys.stderr)
    with bad_input():
        objects = _objects(dump) if dump is not None else []
    sandbox = Sandbox(port=port)
    loaded = sandbox.load(objects)
    for kind, count in sorted(loaded.skipped.items()):
        click.echo(f"left out: {count} of {kind}", err=True)
    if dump is None:
        sandbox.nodes(3 if nodes is None else nodes)
    try:
        asyncio.run(_serve(sandbox, kubeconfig))
    except KeyboardInterrupt:
        click.echo("\nended")


async def _serve(sandbox: Sandbox, kubeconfig: Path | None) -> None:
    with tempfile.TemporaryDirectory(prefix="muster-sandbox-") as folder:
        async with sandbox:
            path = sandbox.kubeconfig(kubeconfig or Path(folder, "kubeconfig"))
            click.echo(f"serving {sandbox.url} until Ctrl-C\n\n  export KUBECONFIG={path}\n  kubectl get nodes\n")
            await asyncio.Event().wait()


def _objects(dump: Path) -> list[dict[str, object]]:
    text = dump.read_bytes()
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        try:
            found = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise BadInputError(f"{dump}: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict):
        raise BadInputError(f"{dump}: not a Kubernetes object or list")
    return [found]
