"""`muster simulate`: would it fit, and if not, what is missing?"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from muster.framework.config import ConfigurationError
from muster.framework.contract.reservation import Start
from muster.framework.model.node import Node
from muster.operator.explain.layout import NONE, lines, printable, shortened
from muster.operator.explain.served import Leader
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import ApiError
from muster.operator.process.settings import Assembly
from muster.operator.simulate import evictions, starts
from muster.operator.simulate.additions import Shortfall
from muster.operator.simulate.admission import AdmissionObjects
from muster.operator.simulate.evictions import Evicted
from muster.operator.simulate.live import hearing_about, read_admission, read_cluster
from muster.operator.simulate.manifests import ManifestError, Objects, read
from muster.operator.simulate.rehearsal import Placement, Rehearsal
from muster.operator.simulate.selectors import selector_told
from muster.operator.simulate.shortfall import shortfall
from muster.operator.simulate.sources import texts
from muster.operator.simulate.wording import alike, counted, nameless

from .common import BadInputError, Target, bad_input, leader_options, target_options
from .output import Output, emit, emit_lines, output_option
from .rules import ConfigurationOptions, rules_options

_DOES_NOT_FIT = 1
_KUBERNETES_OWN = "default-scheduler"
"""What the API server fills in for pods that name no scheduler."""


class _Source(click.ParamType[str]):
    """A file, a folder, a URL or `-`; the shell completes files."""

    name = "source"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


@click.command("simulate")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    required=True,
    type=_Source(),
    metavar="FILE|DIR|URL",
    help="Manifests of pods, PodGroups, Jobs, Deployments, ReplicaSets, StatefulSets, and of what plugins look at, "
    "such as claims; - is stdin. May be repeated.",
)
@click.option("-R", "--recursive", is_flag=True, help="Also the folders in a DIR.")
@click.option(
    "--from",
    "dump",
    type=click.Path(path_type=Path),
    metavar="DUMP",
    help="Use this cluster: the output of `kubectl get -A -o json nodes,pods,podgroups,pvc,pv,sc,priorityclasses,"
    "runtimeclasses,limitranges`. "
    "Default: the live one.",
)
@output_option(Output.WIDE, Output.YAML, Output.JSON)
@rules_options
@target_options
@leader_options
def command(
    *,
    target: Target,
    leader: Leader | None,
    files: Sequence[str],
    recursive: bool,
    dump: Path | None,
    output: Output,
    choice: ConfigurationOptions,
) -> None:
    """Tell whether pods and PodGroups would fit, where each would go, and what is missing if they do not.

    Decides exactly as `muster run` would. Nothing is written to any cluster. Exit code 1 when something does not fit.

    Decides by the configuration of --config, or of the leader at --muster-url; else by Muster's default profile.
    """
    with bad_input():
        rules = choice.rules(leader, None if leader is None else target.connection())
        assembly = rules.assembly
        source = target.connection() if dump is None else _read(assembly, str(dump))
        wanted = _read(assembly, *files, recursive=recursive, admission=_admission(source))
        if not wanted.pods:
            raise BadInputError(f"no pods in {', '.join(files)}")
    _tell_of_other_schedulers(assembly, wanted)
    for sentence in wanted.admission.unknown:
        click.echo(sentence, err=True)
    if isinstance(source, Objects) and not source.nodes:
        raise BadInputError(f"no nodes in {dump}")
    try:
        outcome = asyncio.run(_simulate(assembly, source, wanted))
    except ConfigurationError as error:
        raise BadInputError(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    rules.warn()
    if output.document:
        emit({**_as_json(outcome), "unknown": [*wanted.admission.unknown]}, output)
    else:
        emit_lines(_told(outcome, wide=output is Output.WIDE))
    if any(not placement.node for placement in outcome.placements):
        raise SystemExit(_DOES_NOT_FIT)


def _tell_of_other_schedulers(assembly: Assembly, wanted: Objects) -> None:
    names = [profile.scheduler_name for profile in assembly.profiles]
    named = Counter(pod.spec.scheduler_name or _KUBERNETES_OWN for pod in wanted.pods)
    for name in sorted(named.keys() - set(names)):
        pods = "1 pod names" if named[name] == 1 else f"{named[name]} pods name"
        click.echo(f"{pods} scheduler {name}; decided as if by profile {names[0]}", err=True)


def _admission(source: Connection | Objects) -> AdmissionObjects:
    """The defaults that new pods get at admission. Raises ClickException."""
    if isinstance(source, Objects):
        return source.admission
    try:
        return asyncio.run(read_admission(source))
    except ApiError as error:
        raise click.ClickException(str(error)) from error


def _read(
    assembly: Assembly, *names: str, recursive: bool = False, admission: AdmissionObjects | None = None
) -> Objects:
    found, whole = Objects(admission=admission or AdmissionObjects()), bool(assembly.configuration.extenders)
    groups = assembly.groups
    try:
        for name in names:
            for source, text in texts(name, recursive=recursive):
                found.extend(read(text, source, assembly.read(), found.admission, kinds=groups, whole=whole))
    except ManifestError as error:
        raise BadInputError(str(error)) from error
    for kind, count in sorted(found.skipped.items()):
        click.echo(f"left out: {count} of {kind}", err=True)
    return found


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of a simulation; `selectors` are those of pods without a node that some node does not match."""

    placements: Sequence[Placement]
    selectors: Mapping[str, str]
    evicted: Sequence[Evicted]
    starts: Sequence[Start]
    missing: Shortfall | None


async def _simulate(assembly: Assembly, source: Connection | Objects, wanted: Objects) -> _Outcome:
    cluster = source if isinstance(source, Objects) else await read_cluster(source, assembly.read())
    async with (
        hearing_about(cluster, assembly.configuration, source, wanted) as hearing,
        Rehearsal(assembly, cluster, wanted, wall=time.time(), hearing=hearing) as rehearsal,
    ):
        placements = await rehearsal.place(rehearsal.pods)
        evicted, foretold = rehearsal.evicted, rehearsal.starts
        selectors = _selectors(placements, cluster.nodes)
        return _Outcome(placements, selectors, evicted, foretold, await shortfall(rehearsal, placements))


def _selectors(placements: Sequence[Placement], nodes: Sequence[Node]) -> dict[str, str]:
    lacking = [each.pod for each in placements if each.lacks_nodes]
    told = {pod.signature: pod for pod in lacking}
    sentences = {signature: selector_told(pod.pod, nodes) for signature, pod in told.items()}
    return {pod.key: sentences[pod.signature] for pod in lacking}


def _as_json(outcome: _Outcome) -> dict[str, object]:
    return {
        "fits": all(placement.node for placement in outcome.placements),
        "pods": [
            {
                "pod": each.pod.key,
                "group": each.group,
                "node": each.node,
                "reason": each.reason,
                "selector": outcome.selectors.get(each.pod.key, ""),
            }
            for each in outcome.placements
        ],
        "evicted": outcome.evicted,
        "starts": outcome.starts,
        "missing": outcome.missing,
    }


def _told(outcome: _Outcome, *, wide: bool) -> Iterator[str]:
    """The table, then what is to be said, each thing once."""
    placements = outcome.placements
    yield from _each(placements) if wide else _like(placements)
    yield ""
    for some in alike(
        (each for each in placements if not each.node), lambda each: nameless(each.reason, each.pod.name)
    ):
        yield printable(f"{_named(some)}: {some[0].reason}")
        selectors = dict.fromkeys(outcome.selectors.get(each.pod.key, "") for each in some)
        yield from (printable(selector) for selector in selectors if selector)
    placed = sum(1 for each in placements if each.node)
    yield f"{placed} of {counted(len(placements), 'pod')} would be scheduled."
    yield from map(printable, evictions.told(outcome.evicted))
    yield from map(printable, starts.told(outcome.starts))
    if outcome.missing is not None:
        yield from map(printable, outcome.missing.sentences)
    elif any(each.lacks_nodes for each in placements):
        yield "More nodes of the shapes that the cluster has would not help."


def _named(placements: Sequence[Placement]) -> str:
    more = f" and {len(placements) - 1} more" if len(placements) > 1 else ""
    return f"{placements[0].pod.key}{more}"


def _each(placements: Sequence[Placement]) -> Iterator[str]:
    """The table of all pods."""
    rows = [(each.pod.key, each.group or NONE, each.node or NONE, each.reason or NONE) for each in placements]
    return lines(("POD", "PODGROUP", "NODE", "REASON"), rows)


def _like(placements: Sequence[Placement]) -> Iterator[str]:
    """The table of groups and of sets of like pods, with and without nodes."""
    rows = [
        (
            *(str(len(some)), some[0].group or NONE),
            shortened([*dict.fromkeys(each.node for each in some)], whole=False) or NONE,
            shortened([each.pod.key for each in some], whole=False),
        )
        for some in alike(placements, lambda each: (each.likeness, bool(each.node)))
    ]
    return lines(("PODS", "PODGROUP", "NODES", "WHICH"), rows)
