"""`muster why`: what a pod, a PodGroup or a CompositePodGroup waits for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import click

from muster.framework.config import ConfigurationError
from muster.operator.explain.group_trial import TriedGroup, try_group, try_tree
from muster.operator.explain.groups import as_json, render_group, resource_name
from muster.operator.explain.reading import read_group
from muster.operator.explain.served import Leader
from muster.operator.explain.standing import Group
from muster.operator.explain.trees import TreeReport, render_tree, report_tree, tree_as_json
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import ApiError, Forbidden, NotFound
from muster.operator.process.settings import Assembly
from muster.operator.simulate.live import hearing_about, read_cluster
from muster.plugins.coscheduling.api import GROUP
from muster.plugins.gangscheduling.api import GROUP as NATIVE_GROUP

from . import candidates
from .common import BadInputError, Target, bad_input, leader_options, target_options
from .explain import explain_pod
from .output import Output, emit, emit_lines, output_option
from .rules import Choice, Rules, rules_options

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
@rules_options
@target_options
@leader_options
def command(
    target: Target,
    leader: Leader | None,
    words: Sequence[str],
    namespace: str | None,
    output: Output,
    choice: Choice,
) -> None:
    """Show what a pod, a PodGroup or a CompositePodGroup waits for.

    Takes a name, or a kind and a name as kubectl does: pod NAME, pod/NAME, pg NAME, pg/NAME. A bare name is a PodGroup
    if there is one, and never a CompositePodGroup.

    Decides by the configuration of --config, or of the leader at --muster-url; else by Muster's default profile.
    """
    kind, name = _kind_and_name(words)
    with bad_input():
        connection = target.connection()
        space = target.namespace(namespace)
        rules = choice.rules(leader, connection)
    if kind in _TREE:
        _tell_of_tree(connection, space, name, output, rules)
    elif kind in _POD or not _tell_of_group(connection, space, kind, name, output, rules):
        explain_pod(connection, leader, name, space, output, rules)


def _kind_and_name(words: Sequence[str]) -> tuple[str, str]:
    """What was asked for; the kind is "" when none was named."""
    if len(words) > _KIND_AND_NAME:
        raise click.UsageError("give one NAME")
    kind, _, name = "/".join(words).rpartition("/")
    if kind and kind not in (*_POD, *_GROUP, *_NATIVE_GROUP, *_TREE):
        raise click.UsageError(f"a {kind} is no pod, PodGroup or CompositePodGroup")
    return kind, name


def _tell_of_group(connection: Connection, namespace: str, kind: str, name: str, output: Output, rules: Rules) -> bool:
    """Whether there is such a PodGroup; if so, it was told of.

    Raises ClickException when there is none and `kind` says that one is meant.
    """
    try:
        group, trial = asyncio.run(_look(rules.assembly, connection, namespace, name, native=kind in _NATIVE_GROUP))
    except NotFound as error:
        if kind:
            raise click.ClickException(str(error)) from error
        return False
    except ConfigurationError as error:
        raise BadInputError(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    if trial is not None and output is not Output.NAME:
        rules.warn()
    if output.document:
        emit(as_json(group, trial), output)
    elif output is Output.NAME:
        emit_lines([resource_name(name, native=group.native)])
    else:
        emit_lines(render_group(group, trial, now=time.time(), wide=output is Output.WIDE))
    return True


def _tell_of_tree(connection: Connection, namespace: str, name: str, output: Output, rules: Rules) -> None:
    """Raises ClickException when there is no such CompositePodGroup."""
    try:
        report, trial = asyncio.run(_look_at_tree(rules.assembly, connection, f"{namespace}/{name}"))
    except ConfigurationError as error:
        raise BadInputError(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    if report is None:
        raise click.ClickException(f'{_COMPOSITE}s.{NATIVE_GROUP} "{name}" not found')
    if trial is not None and output is not Output.NAME:
        rules.warn()
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
    async with hearing_about(cluster, assembly.configuration, connection) as hearing:
        key, native = group.group.key, group.native
        return group, await try_group(assembly, cluster, key, native=native, now=time.time(), hearing=hearing)


async def _look_at_tree(
    assembly: Assembly, connection: Connection, key: str
) -> tuple[TreeReport | None, TriedGroup | None]:
    """The CompositePodGroup, None where there is none, and what a trial of its groups comes to."""
    cluster = await read_cluster(connection, assembly.watched())
    report = report_tree(cluster, key)
    if report is None:
        return None, None
    groups = [each.group.key for each in report.groups]
    async with hearing_about(cluster, assembly.configuration, connection) as hearing:
        return report, await try_tree(assembly, cluster, groups, now=time.time(), hearing=hearing)
