"""`muster why`: what a pod or a PodGroup waits for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec

from muster.operator.explain.groups import as_json, render_report, report_group
from muster.operator.explain.layout import console
from muster.operator.kube.credentials import Connection, current_namespace, load_connection
from muster.operator.kube.errors import ApiError, NotFound

from . import explain
from .common import bad_input, config_option, kubeconfig_option

_POD = ("po", "pod", "pods")
_GROUP = ("pg", "pgs", "podgroup", "podgroups")


@click.command("why")
@click.argument("name", metavar="POD|PODGROUP")
@click.option("-n", "--namespace", metavar="NS", help="Where it is. Default: the context's namespace.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@config_option
@kubeconfig_option
@click.pass_context
def command(
    context: click.Context,
    name: str,
    namespace: str | None,
    output: str,
    config: Path | None,
    kubeconfig: Path | None,
) -> None:
    """Show what a pod or a PodGroup waits for.

    Takes a name, or a kind and a name as kubectl does: pod/NAME, pg/NAME. A bare name is a PodGroup if there is one.

    Decides about pods by Muster's default profile: give --config the file of a `muster run` that has one.
    """
    kind, _, rest = name.rpartition("/")
    if kind and kind not in (*_POD, *_GROUP):
        raise click.UsageError(f"a {kind} is neither a pod nor a PodGroup")
    with bad_input():
        connection = load_connection(kubeconfig)
        space = namespace or current_namespace(kubeconfig)
    if kind in _POD or not _tell_of_group(connection, space, rest, output, must_exist=kind in _GROUP):
        context.invoke(
            explain.command, pod=rest, namespace=space, output=output, batch=None, config=config, kubeconfig=kubeconfig
        )


def _tell_of_group(connection: Connection, namespace: str, name: str, output: str, *, must_exist: bool) -> bool:
    """Whether there is such a PodGroup; if so, it was told of."""
    try:
        report = asyncio.run(report_group(connection, namespace, name))
    except NotFound as error:
        if must_exist:
            raise click.ClickException(str(error)) from error
        return False
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(as_json(report)), indent=2))
    else:
        shown = console()
        for part in render_report(report):
            shown.print(part)
    return True
