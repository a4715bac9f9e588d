"""`muster groups`: all PodGroups with what each lacks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec

from muster.operator.explain.groups import list_groups, render_groups
from muster.operator.explain.layout import console
from muster.operator.kube.credentials import current_namespace, load_connection
from muster.operator.kube.errors import ApiError

from .common import bad_input, kubeconfig_option


@click.command("groups")
@click.option("-n", "--namespace", metavar="NS", help="Only this namespace. Default: the context's.")
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="All namespaces.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@kubeconfig_option
def command(namespace: str | None, everywhere: bool, output: str, kubeconfig: Path | None) -> None:
    """List PodGroups: how many pods each needs and has, and why it waits."""
    with bad_input():
        connection = load_connection(kubeconfig)
        space = None if everywhere else namespace or current_namespace(kubeconfig)
    try:
        groups = asyncio.run(list_groups(connection, space))
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(groups), indent=2))
    else:
        console().print(render_groups(groups))
