"""`muster explain`: why a pod goes where it goes, or nowhere."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import IO

import click
import msgspec

from muster.framework.config import ConfigurationError
from muster.framework.model.quantity import QuantityError
from muster.operator.explain.cases import CaseError, as_json, decide
from muster.operator.explain.layout import console
from muster.operator.explain.live import explain_live
from muster.operator.explain.tables import render
from muster.operator.kube.credentials import current_namespace, load_connection
from muster.operator.kube.errors import ApiError
from muster.operator.process.settings import assemble, read_configuration

from .common import BadInputError, bad_input, config_option, kubeconfig_option


@click.command("explain")
@click.argument("pod", required=False)
@click.option("-n", "--namespace", metavar="NS", help="The pod's namespace. Default: the context's.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option(
    "--batch",
    type=click.File("rb"),
    metavar="FILE",
    help="Decide recorded cases instead, one JSON object a line; - is stdin.",
)
@config_option
@kubeconfig_option
def command(
    pod: str | None,
    namespace: str | None,
    output: str,
    batch: IO[bytes] | None,
    config: Path | None,
    kubeconfig: Path | None,
) -> None:
    """Show why POD goes where it goes, or nowhere.

    Reads the live cluster, decides for the pod exactly as `muster run` would, and shows why each group of nodes is
    rejected and how the best nodes score. Nothing is written.

    Decides by Muster's default profile: give --config the file of a `muster run` that has one.
    """
    if (pod is None) == (batch is None):
        raise click.UsageError("give either a POD or --batch FILE")
    if batch is not None:
        _decide_cases(batch)
    elif pod is not None:
        _explain_pod(pod, namespace, output, config=config, kubeconfig=kubeconfig)


def _decide_cases(batch: IO[bytes]) -> None:
    try:
        for line in decide(batch, batch.name):
            sys.stdout.buffer.write(line)
    except (CaseError, ConfigurationError, QuantityError) as error:
        raise BadInputError(str(error)) from error
    sys.stdout.buffer.flush()


def _explain_pod(pod: str, namespace: str | None, output: str, *, config: Path | None, kubeconfig: Path | None) -> None:
    with bad_input():
        assembly = assemble(read_configuration(config))
        connection = load_connection(kubeconfig)
        space = namespace or current_namespace(kubeconfig)
    try:
        explained = asyncio.run(explain_live(assembly, connection, space, pod))
    except ConfigurationError as error:
        raise BadInputError(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    if output == "json":
        found: dict[str, object] = {
            "pod": explained.pod.key,
            "schedulerName": explained.pod.pod.spec.scheduler_name,
            "profile": explained.profile,
            **({"message": explained.gated} if explained.gated else as_json(explained.explanation)),
        }
        if explained.group:
            found["group"] = explained.group
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))
        return
    shown = console()
    for part in render(explained):
        shown.print(part)
