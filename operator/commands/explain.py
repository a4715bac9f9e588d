"""`muster explain`: why a pod goes where it goes, or nowhere."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import IO

import click

from muster.framework.config import ConfigurationError
from muster.framework.model.quantity import QuantityError
from muster.operator.explain.cases import CaseError, as_json, decide
from muster.operator.explain.live import explain_live
from muster.operator.explain.served import Leader, ask_leader, render_served
from muster.operator.explain.tables import render
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import ApiError, Forbidden, NotFound

from . import completion_candidates
from .common import BadInputError, Target, bad_input, leader_options, target_options
from .effective_configuration import ConfigurationOptions, EffectiveConfiguration, configuration_options
from .output import Output, emit, emit_lines, output_option


@click.command("explain")
@click.argument("pod", required=False, shell_complete=completion_candidates.pods)
@click.option(
    "-n",
    "--namespace",
    metavar="NS",
    shell_complete=completion_candidates.namespaces,
    help="The pod's namespace. Default: the context's.",
)
@output_option(Output.WIDE, Output.YAML, Output.JSON, Output.NAME)
@click.option(
    "--batch",
    type=click.File("rb"),
    metavar="FILE",
    help="Decide recorded cases instead, one JSON object a line; - is stdin.",
)
@configuration_options
@target_options
@leader_options
def command(
    *,
    target: Target,
    leader: Leader | None,
    pod: str | None,
    namespace: str | None,
    output: Output,
    batch: IO[bytes] | None,
    choice: ConfigurationOptions,
) -> None:
    """Show why POD goes where it goes, or nowhere.

    Reads the live cluster, decides for the pod exactly as `muster run` would, and shows why each group of nodes is
    rejected and how the best nodes score. Nothing is written.

    Decides by the configuration of --config, or of the leader at --muster-url; else by Muster's default profile.
    """
    if pod == "" or (pod is None) == (batch is None):
        raise click.UsageError("give either a POD or --batch FILE")
    if batch is not None:
        _decide_cases(batch)
    elif pod is not None:
        with bad_input():
            connection = target.connection()
            space = target.namespace(namespace)
            rules = choice.rules(leader, connection)
        explain_pod(connection, leader, pod, space, output=output, rules=rules)


def _decide_cases(batch: IO[bytes]) -> None:
    try:
        for line in decide(batch, batch.name):
            sys.stdout.buffer.write(line)
    except (CaseError, ConfigurationError, QuantityError) as error:
        raise BadInputError(str(error)) from error
    sys.stdout.buffer.flush()


def explain_pod(
    connection: Connection,
    leader: Leader | None,
    pod: str,
    namespace: str,
    *,
    output: Output,
    rules: EffectiveConfiguration,
    missing: str = "",
) -> None:
    """Explain one pod of the cluster; if the cluster may not be read, show the leader's last decision about the pod.

    `missing` is the message if there is no such pod, where it differs from the API's.
    """
    try:
        explained = asyncio.run(explain_live(rules.assembly, connection, namespace, pod))
    except ConfigurationError as error:
        raise BadInputError(str(error)) from error
    except Forbidden as error:
        if leader is None:
            raise click.ClickException(f"{error}; with --muster-url the leader is asked") from error
        _show_served(leader, connection, namespace, pod, output=output)
        return
    except NotFound as error:
        raise click.ClickException(missing or str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    if output.document:
        found: dict[str, object] = {
            "pod": explained.pod.key,
            "schedulerName": explained.pod.pod.spec.scheduler_name,
            "profile": explained.profile,
            **({"node": explained.pod.node_name} if explained.pod.node_name else {}),
            **({"message": explained.gated} if explained.gated else as_json(explained.explanation)),
        }
        if explained.group:
            found["group"] = explained.group
        if explained.at_permit:
            found["held"] = explained.at_permit
        if explained.quota:
            found["quota"] = explained.quota
        if explained.selector:
            found["selector"] = explained.selector
        if explained.size:
            found["size"] = explained.size
        if explained.evicted:
            found["evicted"] = explained.evicted
        if explained.starts:
            found["starts"] = explained.starts
        emit(found, output)
    elif output is Output.NAME:
        emit_lines([f"pod/{explained.pod.pod.metadata.name}"])
    else:
        emit_lines(render(explained, wide=output is Output.WIDE))
    if not explained.gated and output is not Output.NAME:
        rules.warn()


def _show_served(leader: Leader, connection: Connection, namespace: str, pod: str, *, output: Output) -> None:
    try:
        with bad_input():
            decision = asyncio.run(ask_leader(leader, connection, namespace, pod))
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    if output.document:
        emit(decision, output)
    elif output is Output.NAME:
        emit_lines([f"pod/{pod}"])
    else:
        emit_lines(render_served(decision, now=time.time()))
