"""`muster quotas`: how much each namespace with an ElasticQuota uses and borrows."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from muster.operator.explain.quotas import render_quotas
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import ApiError, NotFound
from muster.operator.kube.informer import Listed
from muster.operator.kube.listing import list_all
from muster.operator.kube.transport import Transport
from muster.plugins.catalog import QUOTAS

from .common import Target, bad_input, target_options
from .completion_candidates import namespaces
from .output import Output, emit, emit_lines, output_option


@click.command("quotas")
@click.option("-n", "--namespace", metavar="NS", shell_complete=namespaces, help="Only this namespace. Default: all.")
@output_option(Output.WIDE, Output.YAML, Output.JSON)
@target_options
def command(*, target: Target, namespace: str | None, output: Output) -> None:
    """List ElasticQuotas: what is used, guaranteed, allowed and borrowed of each resource.

    A share is the fraction of the total that all quotas guarantee. Usage is as last reported by the leader.
    """
    with bad_input():
        connection = target.connection()
    try:
        found = asyncio.run(_read(connection))
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    report = QUOTAS.report(found, namespace)
    if output.document:
        emit(report, output)
    elif not (report.uses or report.problems):
        where = f" in {namespace} namespace" if namespace else ""
        click.echo(f"No resources found{where}.", err=True)
    else:
        emit_lines(render_quotas(report, wide=output is Output.WIDE))


async def _read(connection: Connection) -> list[Any]:
    """Read all quotas; none if the API does not serve them. Raises ApiError."""
    async with Transport(connection) as transport:
        try:
            return await list_all(ApiClient(transport), Listed(QUOTAS.objects.path, QUOTAS.objects.type))
        except NotFound:
            return []
