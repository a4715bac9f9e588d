"""`muster why`: what a pod, a PodGroup or a CompositePodGroup waits for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import click

from muster.operator.explain.group_trial import TriedGroup, try_group, try_tree
from muster.operator.explain.groups import as_json, render_group, resource_name
from muster.operator.explain.reading import read_group
from muster.operator.explain.served import Leader
from muster.operator.explain.standing import Group
from muster.operator.explain.trees import render_tree, report_tree, tree_as_json
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import ApiError, Forbidden, NotFound
from muster.operator.process.settings import Assembly
from muster.operator.simulate.live import read_cluster
from muster.plugins.coscheduling.api import GROUP
from muster.plugins.gangscheduling.api import GROUP as NATIVE_GROUP

from . import candidates
from .common import Target, assembly_to_ask, bad_input, config_option, leader_options, target_options
from .explain import explain_pod
from .output import Output, emit, emit_lines, output_option

_COMPOSITE = "compositepodgroup"
_POD = ("po", "pod", "pods")
_GROUP = ("pg", "pgs", "podgroup", "podgroups", f"podgroup.{GROUP}", f"podgroups.{GROUP}")
_NATIVE_GROUP = (f"podgroup.{NATIVE_GROUP}", f"podgroups.{NATIVE_GROUP}")
_TREE = (_COMPOSITE, f"{_COMPOSITE}s", f"{_COMPOSITE}.{NATIVE_GROUP}", f"{_COMPOSITE}s.{NATIVE_GROUP}")
_KIND_AND_NAME = 2


@click.command("why")
@click.argument(
    "words",
    metavar="[pod|podgroup|compositepodgroup] NAME",
    nargs=-1,
    required=True,
    shell_complete=candidates.pods_and_groups,
)
@click.option(
    "-n",
    "--namespace",
    metavar="NS",
    shell_complete=candidates.namespaces,
    help="Where it is. Default: the context's namespace.",
)
@output_option(Output.WIDE, Output.YAML, Output.JSON, Output.NAME)
@config_option
@target_options
@leader_options
def command(
    target: Target,
    leader: Leader | None,
    words: Sequence[str],
    namespace: str | None,
    output: Output,
    config: Path | None,
) -> None:
    """Show what a pod, a PodGroup or a CompositePodGroup waits for.

    Takes a name, or a kind and a name as kubectl does: pod NAME, pod/NAME, pg NAME, pg/NAME. A bare name is a PodGroup
    if there is one, and never a CompositePodGroup.

    Decides about pods by Muster's default profile: give --config the file of a `muster run` that has one.
    """
    kind, name = _kind_and_name(words)
    with bad_input():
        connection = target.connection()
        space = target.namespace(namespace)
    if kind in _TREE:
        _tell_of_tree(connection, space, name, output, config)
    elif kind in _POD or not _tell_of_group(connection, space, kind, name, output, config):
        explain_pod(target, leader, name, space, output, config)


def _kind_and_name(words: Sequence[str]) -> tuple[str, str]:
    """What was asked for; the kind is "" when none was named."""
    if len(words) > _KIND_AND_NAME:
        raise click.UsageError("give one NAME")
    kind, _, name = "/".join(words).rpartition("/")
    if kind and kind not in (*_POD, *_GROUP, *_NATIVE_GROUP, *_TREE):
        raise click.UsageError(f"a {kind} is no pod, PodGroup or CompositePodGroup")
    return kind, name


def _tell_of_group(
    connection: Connection, namespace: str, kind: str, name: str, output: Output, config: Path | None
) -> bool:
    """Whether there is such a PodGroup; if so, it was told of.

    Raises ClickException when there is none and `kind` says that one is meant.
    """
    with bad_input():
        assembly = assembly_to_ask(config)
    try:
        group, trial = asyncio.run(_look(assembly, connection, namespace, name, native=kind in _NATIVE_GROUP))
    except NotFound as error:
        if kind:
            raise click.ClickException(str(error)) from error
        return False
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    if output.document:
        emit(as_json(group, trial), output)
    elif output is Output.NAME:
        emit_lines([resource_name(name, native=group.native)])
    else:
        emit_lines(render_group(group, trial, now=time.time(), wide=output is Output.WIDE))
    return True


def _tell_of_tree(connection: Connection, namespace: str, name: str, output: Output, config: Path | None) -> None:
    """Raises ClickException when there is no such CompositePodGroup."""
    with bad_input():
        assembly = assembly_to_ask(config)
    try:
        cluster = asyncio.run(read_cluster(connection, assembly.watched()))
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    report = report_tree(cluster, f"{namespace}/{name}")
    if report is None:
        raise click.ClickException(f'{_COMPOSITE}s.{NATIVE_GROUP} "{name}" not found')
    groups = [each.group.key for each in report.groups]
    trial = asyncio.run(try_tree(assembly, cluster, groups, now=time.time()))
    if output.document:
        emit(tree_as_json(report, trial), output)
    elif output is Output.NAME:
        emit_lines([f"{_COMPOSITE}.{NATIVE_GROUP}/{name}"])
    else:
        emit_lines(render_tree(report, trial, wide=output is Output.WIDE))


async def _look(
    assembly: Assembly, connection: Connection, namespace: str, name: str, *, native: bool
) -> tuple[Group, TriedGroup | None]:
    """The group, and what a trial of its members comes to if it lacks some and the caller may read the cluster."""
    group = await read_group(connection, namespace, name, native=native)
    if group.placed >= group.group.spec.min_member:
        return group, None
    try:
        cluster = await read_cluster(connection, assembly.watched())
    except Forbidden as error:
        click.echo(f"the cluster cannot be read, so nothing is tried: {error}", err=True)
        return group, None
    return group, await try_group(assembly, cluster, group.group.key, native=group.native, now=time.time())
