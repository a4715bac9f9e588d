"""`muster simulate`: would it fit, and if not, what is missing?"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import click

from muster.framework.config import ConfigurationError
from muster.framework.model.pod import Pod
from muster.operator.explain.outcome import (
    RehearsalOutcome,
    outcome_as_json,
    outcome_lines,
    selector_sentences,
    size_sentences,
)
from muster.operator.explain.served import Leader
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import ApiError
from muster.operator.process.settings import Assembly
from muster.operator.simulate.admission import AdmissionObjects
from muster.operator.simulate.live import extender_session, read_admission, read_cluster
from muster.operator.simulate.manifests import ManifestError, Objects, read
from muster.operator.simulate.rehearsal import Rehearsal, as_new
from muster.operator.simulate.shortfall import shortfall
from muster.operator.simulate.sources import texts
from muster.operator.simulate.wording import counted

from .common import BadInputError, Target, bad_input, leader_options, target_options
from .effective_configuration import ConfigurationOptions, configuration_options
from .files import Files, dumped_cluster, files_options
from .output import Output, busy, emit, emit_lines, output_option

_DOES_NOT_FIT = 1
_KUBERNETES_OWN = "default-scheduler"
"""The scheduler that the API server sets for pods that name none."""


@click.command("simulate")
@files_options
@click.option(
    "--from",
    "dump",
    type=click.Path(path_type=Path),
    metavar="DUMP",
    help="Use this cluster: the output of `kubectl get -A -o json nodes,pods,podgroups,pvc,pv,sc,priorityclasses,"
    "runtimeclasses,limitranges`. Default: the live one.",
)
@output_option(Output.WIDE, Output.YAML, Output.JSON)
@configuration_options
@target_options
@leader_options
def command(
    *,
    target: Target,
    leader: Leader | None,
    files: Files,
    dump: Path | None,
    output: Output,
    choice: ConfigurationOptions,
) -> None:
    """Show whether pods and PodGroups would fit, where each would go, and what is missing if they do not.

    Decides exactly as `muster run` would. Nothing is written to any cluster. Exit code 1 when something does not fit.

    Decides by the configuration of --config, or of the leader at --muster-url; else by Muster's default profile.
    """
    with bad_input():
        rules = choice.rules(leader, None if leader is None else target.connection())
        assembly = rules.assembly
        source = target.connection() if dump is None else _dumped(assembly, dump)
        space = files.namespace_on(target if dump is None else None)
        wanted = _read(assembly, files, _admission(source), space)
        if not wanted.pods:
            raise BadInputError(f"no pods in {', '.join(files.names)}")
    wanted = _adopted(assembly, wanted)
    for sentence in wanted.admission.unknown:
        click.echo(sentence, err=True)
    try:
        with busy(f"trying {counted(len(wanted.pods), 'pod')}"):
            outcome = asyncio.run(_simulate(assembly, source, wanted))
    except ConfigurationError as error:
        raise BadInputError(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    if output.document:
        emit({**outcome_as_json(outcome), "unknown": [*wanted.admission.unknown]}, output)
    else:
        emit_lines(outcome_lines(outcome, wide=output is Output.WIDE))
    rules.warn()
    if any(not placement.node for placement in outcome.placements):
        raise SystemExit(_DOES_NOT_FIT)


def _adopted(assembly: Assembly, wanted: Objects) -> Objects:
    """The objects, with pods that do not choose a scheduler yet left to the first profile, which is said."""
    names = [profile.scheduler_name for profile in assembly.profiles]
    if _KUBERNETES_OWN in names:
        return wanted
    pods = [as_new(pod, names[0]) if _chooses_none(pod) else pod for pod in wanted.pods]
    count = sum(map(_chooses_none, wanted.pods))
    if count:
        named = "1 pod names" if count == 1 else f"{count} pods name"
        click.echo(f"{named} scheduler {_KUBERNETES_OWN}; decided as if by profile {names[0]}", err=True)
    return replace(wanted, pods=pods)


def _chooses_none(pod: Pod) -> bool:
    return pod.spec.scheduler_name in ("", _KUBERNETES_OWN)


def _admission(source: Connection | Objects) -> AdmissionObjects:
    """The objects that complete new pods. Raises ClickException."""
    if isinstance(source, Objects):
        return source.admission
    try:
        return asyncio.run(read_admission(source))
    except ApiError as error:
        raise click.ClickException(str(error)) from error


def _read(assembly: Assembly, files: Files, admission: AdmissionObjects, namespace: str) -> Objects:
    """The objects in the files. Raises BadInputError."""
    found, whole = Objects(admission=admission), bool(assembly.configuration.extenders)
    try:
        for name in files.names:
            for source, text in texts(name, recursive=files.recursive):
                text_holds = read(
                    text,
                    source,
                    assembly.kinds_to_read(),
                    admission,
                    kinds=assembly.groups,
                    namespace=namespace,
                    whole=whole,
                )
                found.extend(text_holds)
    except ManifestError as error:
        raise BadInputError(str(error)) from error
    _say_left_out(found)
    return found


def _dumped(assembly: Assembly, dump: Path) -> Objects:
    """The cluster in the file. Raises BadInputError."""
    found = dumped_cluster(dump, assembly, assembly.kinds_to_read())
    _say_left_out(found)
    return found


def _say_left_out(found: Objects) -> None:
    for kind, count in sorted(found.skipped.items()):
        hint = "; its pods, if any, are made by its operator: simulate the pods" if _is_custom(kind) else ""
        click.echo(f"left out: {count} of {kind}{hint}", err=True)


def _is_custom(kind: str) -> bool:
    """Whether `apiVersion kind` is a custom resource, which operators make pods of."""
    group, slash, _ = kind.rpartition("/")
    own = "." not in group or (group.endswith(".k8s.io") and not group.endswith(".x-k8s.io"))
    return bool(slash) and not own


async def _simulate(assembly: Assembly, source: Connection | Objects, wanted: Objects) -> RehearsalOutcome:
    cluster = source if isinstance(source, Objects) else await read_cluster(source, assembly.kinds_to_read())
    async with (
        extender_session(cluster, assembly.configuration, source, wanted) as session,
        Rehearsal(assembly, cluster, wanted, wall=time.time(), session=session) as rehearsal,
    ):
        placements = await rehearsal.place(rehearsal.pods)
        evicted, starts = rehearsal.evicted, rehearsal.starts
        missing = await shortfall(rehearsal, placements)
    selectors, sizes = selector_sentences(placements, cluster.nodes), size_sentences(placements, cluster.nodes)
    return RehearsalOutcome(placements, selectors, sizes, evicted, starts, missing)
