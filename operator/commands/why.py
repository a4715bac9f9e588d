"""`muster why`: what a pod, a PodGroup or a CompositePodGroup waits for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from muster.framework.config import ConfigurationError
from muster.framework.contract import GroupKind, GroupView
from muster.operator.explain.group_trial import TriedGroup, try_group, try_tree
from muster.operator.explain.groups import as_json, render_group, resource_name
from muster.operator.explain.reading import read_group
from muster.operator.explain.served import Leader
from muster.operator.explain.trees import TreeReport, render_tree, report_tree, tree_as_json
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import ApiError, Forbidden, NotFound
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.simulate.live import extender_session, read_cluster
from muster.operator.simulate.wording import counted
from muster.plugins.catalog import group_kinds

from . import completion_candidates
from .common import BadInputError, Target, bad_input, leader_options, target_options
from .effective_configuration import ConfigurationOptions, EffectiveConfiguration, configuration_options
from .explain import explain_pod
from .output import Output, busy, emit, emit_lines, output_option

_POD = ("po", "pod", "pods")
_KIND_AND_NAME = 2


@click.command("why")
@click.argument(
    "words",
    metavar="[pod|podgroup|compositepodgroup] NAME",
    nargs=-1,
    required=True,
    shell_complete=completion_candidates.pods_and_groups,
)
@click.option(
    "-n",
    "--namespace",
    metavar="NS",
    shell_complete=completion_candidates.namespaces,
    help="Where it is. Default: the context's namespace.",
)
@output_option(Output.WIDE, Output.YAML, Output.JSON, Output.NAME)
@configuration_options
@target_options
@leader_options
def command(
    *,
    target: Target,
    leader: Leader | None,
    words: Sequence[str],
    namespace: str | None,
    output: Output,
    choice: ConfigurationOptions,
) -> None:
    """Show what a pod, a PodGroup or a CompositePodGroup waits for.

    Takes a name, or a kind and a name as kubectl does: pod NAME, pod/NAME, pg NAME, pg/NAME. A bare name is a PodGroup
    if there is one, and never a CompositePodGroup.

    Decides by the configuration of --config, or of the leader at --muster-url; else by Muster's default profile.
    """
    kind, name = _kind_and_name(words)
    kinds = GroupKinds(group_kinds())
    groups, trees = kinds.named(kind), kinds.of_composites(kind)
    if kind and not (kind in _POD or groups or trees):
        raise click.UsageError(f"a {kind} is no pod, PodGroup or CompositePodGroup")
    with bad_input():
        connection = target.connection()
        space = target.namespace(namespace)
        rules = choice.rules(leader, connection)
    question = _Question(connection, space, name, output, rules)
    if trees:
        _show_tree(question, trees[0])
    elif kind in _POD or not _show_group(question, groups, by_kind=bool(kind)):
        missing = "" if kind else f'neither a PodGroup nor a pod "{name}" in namespace {space}'
        explain_pod(connection, leader, name, space, output=output, rules=rules, missing=missing)


@dataclass(frozen=True, slots=True)
class _Question:
    """The object to explain, the configuration and the output format."""

    connection: Connection
    namespace: str
    name: str
    output: Output
    rules: EffectiveConfiguration


def _kind_and_name(words: Sequence[str]) -> tuple[str, str]:
    """The kind and the name in the arguments; the kind is "" if none is given."""
    kind, _, name = "/".join(words).rpartition("/")
    if len(words) > _KIND_AND_NAME or not name:
        raise click.UsageError("give one NAME")
    return kind, name


def _show_group(question: _Question, kinds: Sequence[GroupKind[Any]], *, by_kind: bool) -> bool:
    """Print the group of this name, of one of the kinds; returns whether it exists.

    Raises ClickException if there is none and the kind was given.
    """
    output, rules = question.output, question.rules
    try:
        group, trial = asyncio.run(_look(question, kinds))
    except NotFound as error:
        if by_kind:
            raise click.ClickException(str(error)) from error
        return False
    except ConfigurationError as error:
        raise BadInputError(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    if output.document:
        emit(as_json(group, trial), output)
    elif output is Output.NAME:
        emit_lines([resource_name(group.kind.objects, group.metadata.name)])
    else:
        emit_lines(render_group(group, trial, now=time.time(), wide=output is Output.WIDE))
    if trial is not None and output is not Output.NAME:
        rules.warn()
    return True


def _show_tree(question: _Question, kind: GroupKind[Any]) -> None:
    """Print the composite of this name. Raises ClickException if it does not exist."""
    assert kind.composites is not None
    output, rules = question.output, question.rules
    try:
        report, trial = asyncio.run(_look_at_tree(question, kind))
    except ConfigurationError as error:
        raise BadInputError(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    if report is None:
        raise click.ClickException(f'{kind.composites.plural}.{kind.composites.group} "{question.name}" not found')
    if output.document:
        emit(tree_as_json(report, trial), output)
    elif output is Output.NAME:
        emit_lines([resource_name(kind.composites, question.name)])
    else:
        emit_lines(render_tree(report, trial, wide=output is Output.WIDE))
    if trial is not None and output is not Output.NAME:
        rules.warn()


async def _look(question: _Question, kinds: Sequence[GroupKind[Any]]) -> tuple[GroupView, TriedGroup | None]:
    """The group, and the result of a trial if it lacks members and the caller may read the cluster.

    A held group, and one whose plugin the configuration does not enable, is not tried.
    """
    assembly, connection = question.rules.assembly, question.connection
    group = await read_group(connection, question.namespace, question.name, kinds)
    if group.held or group.placed >= group.needed or group.kind.plugin not in assembly.registry:
        return group, None
    waiting = sum(not pod.spec.node_name for pod in group.members)
    try:
        with busy(f"trying {counted(waiting, 'member')}"):
            cluster = await read_cluster(connection, assembly.kinds_to_read())
            async with extender_session(cluster, assembly.configuration, connection) as session:
                return group, await try_group(assembly, cluster, group.id, now=time.time(), session=session)
    except Forbidden as error:
        click.echo(f"the cluster cannot be read, so nothing is tried: {error}", err=True)
        return group, None


async def _look_at_tree(question: _Question, kind: GroupKind[Any]) -> tuple[TreeReport | None, TriedGroup | None]:
    """The composite (None if it does not exist), and the result of a trial of its groups."""
    assembly, connection = question.rules.assembly, question.connection
    cluster = await read_cluster(connection, dict.fromkeys((*GroupKinds([kind]).watched, *assembly.kinds_to_read())))
    report = report_tree(kind, cluster, f"{question.namespace}/{question.name}")
    if report is None or kind.plugin not in assembly.registry:
        return report, None
    groups = [each.key for each in report.groups]
    async with extender_session(cluster, assembly.configuration, connection) as session:
        with busy(f"trying {counted(len(groups), 'group')}"):
            return report, await try_tree(assembly, cluster, kind, groups, now=time.time(), session=session)
