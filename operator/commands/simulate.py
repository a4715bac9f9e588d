"""`muster simulate`: would it fit, and if not, what is missing?"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from muster.framework.config import ConfigurationError
from muster.operator.explain.layout import console, table
from muster.operator.kube.credentials import Connection, load_connection
from muster.operator.kube.errors import ApiError
from muster.operator.process.settings import Assembly, assemble, read_configuration
from muster.operator.simulate.live import read_cluster
from muster.operator.simulate.manifests import ManifestError, Objects, read
from muster.operator.simulate.rehearsal import Placement, Rehearsal
from muster.operator.simulate.shortfall import Shortfall, shortfall

from .common import BadInputError, bad_input, config_option, kubeconfig_option

_DOES_NOT_FIT = 1
_KUBERNETES_OWN = "default-scheduler"
"""What the API server fills in for pods that name no scheduler."""


@click.command("simulate")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Manifests of pods, PodGroups, Jobs, Deployments, ReplicaSets, StatefulSets, and of what plugins look at, "
    "such as claims; - is stdin. May be repeated.",
)
@click.option(
    "--from",
    "dump",
    type=click.Path(path_type=Path),
    metavar="DUMP",
    help="Use this cluster: the output of `kubectl get nodes,pods,podgroups,pvc,pv,sc -A -o json`. "
    "Default: the live one.",
)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@config_option
@kubeconfig_option
def command(
    files: Sequence[Path], dump: Path | None, output: str, config: Path | None, kubeconfig: Path | None
) -> None:
    """Tell whether pods and PodGroups would fit, where each would go, and what is missing if they do not.

    Decides exactly as `muster run` would. Nothing is written to any cluster. Exit code 1 when something does not fit.

    Decides by Muster's default profile: give --config the file of a `muster run` that has one.
    """
    with bad_input():
        assembly = assemble(read_configuration(config))
        wanted = _read(assembly, *files)
        if not wanted.pods:
            raise BadInputError(f"no pods in {', '.join(map(str, files))}")
        source = load_connection(kubeconfig) if dump is None else _read(assembly, dump)
    _tell_of_other_schedulers(assembly, wanted)
    if isinstance(source, Objects) and not source.nodes:
        raise BadInputError(f"no nodes in {dump}")
    try:
        placements, missing = asyncio.run(_simulate(assembly, source, wanted))
    except ConfigurationError as error:
        raise BadInputError(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(_as_json(placements, missing)), indent=2))
    else:
        _print(placements, missing)
    if any(not placement.node for placement in placements):
        raise SystemExit(_DOES_NOT_FIT)


def _tell_of_other_schedulers(assembly: Assembly, wanted: Objects) -> None:
    names = [profile.scheduler_name for profile in assembly.profiles]
    named = Counter(pod.spec.scheduler_name or _KUBERNETES_OWN for pod in wanted.pods)
    for name in sorted(named.keys() - set(names)):
        pods = "1 pod names" if named[name] == 1 else f"{named[name]} pods name"
        click.echo(f"{pods} scheduler {name}; decided as if by profile {names[0]}", err=True)


def _read(assembly: Assembly, *files: Path) -> Objects:
    found = Objects()
    for file in files:
        text = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        try:
            found.extend(read(text, str(file), assembly.watched()))
        except ManifestError as error:
            raise BadInputError(str(error)) from error
    for kind, count in sorted(found.skipped.items()):
        click.echo(f"left out: {count} of {kind}", err=True)
    return found


async def _simulate(
    assembly: Assembly, source: Connection | Objects, wanted: Objects
) -> tuple[list[Placement], Shortfall | None]:
    cluster = source if isinstance(source, Objects) else await read_cluster(source, assembly.watched())
    async with Rehearsal(assembly, cluster, wanted) as rehearsal:
        placements = await rehearsal.place(rehearsal.pods)
        return placements, await shortfall(rehearsal, placements)


def _as_json(placements: Sequence[Placement], missing: Shortfall | None) -> dict[str, object]:
    return {
        "fits": all(placement.node for placement in placements),
        "pods": [
            {
                "pod": each.pod.key,
                "group": each.group,
                "node": each.node,
                "reason": each.reason,
                "evicts": each.evicts,
            }
            for each in placements
        ],
        "missing": missing,
    }


def _print(placements: Sequence[Placement], missing: Shortfall | None) -> None:
    output = console()
    rows = table("Pod", "PodGroup", "Node", "Reason")
    for each in placements:
        rows.add_row(each.pod.key, each.group, each.node or "-", each.reason)
    output.print(rows)
    placed = sum(1 for each in placements if each.node)
    output.print(f"{placed} of {len(placements)} pods would be scheduled.")
    for each in placements:
        if each.evicts:
            output.print(f"For {each.pod.key} would be evicted: {', '.join(each.evicts)}")
    if missing is not None:
        offer = ", ".join(f"{amount} {name}" for name, amount in missing.allocatable.items())
        nodes = "1 more node" if missing.nodes == 1 else f"{missing.nodes} more nodes"
        output.print(f"{nodes} like {missing.like} ({offer}) would make the rest fit.")
    elif any(each.lacks_nodes for each in placements):
        output.print("More nodes of the shapes that the cluster has would not help.")
