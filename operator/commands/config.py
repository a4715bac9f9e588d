"""`muster config`: the errors of a configuration file and its effect, before a scheduler runs with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

from muster.framework.config import ConfigurationError, ResolvedProfile
from muster.framework.config.problems import as_json
from muster.operator.explain.layout import lines, printable
from muster.operator.process.settings import Assembly, cautions, read_assembly
from muster.plugins.catalog import KNOWN_UNIMPLEMENTED, known

from .common import bad_input, errors_of
from .output import Output, emit, emit_lines, output_option

_WRONG = 1
"""Exit code of a check that found errors."""


@click.group("config")
def command() -> None:
    """Check configuration files."""


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@output_option(Output.WIDE, Output.YAML, Output.JSON)
def check(file: Path | None, output: Output) -> None:
    """Check FILE, a KubeSchedulerConfiguration; without FILE, the configuration that Muster runs by default.

    Prints all errors, one per line, or else the settings that may be mistakes. -o wide prints what is enabled too: each
    profile with its plugins at each point, in calling order, their arguments, and the plugins that are installed.

    Exit codes: 0 for a file that Muster can run with, 1 for a file with errors, 2 for a file that cannot be read.
    """
    with bad_input():
        try:
            assembly = read_assembly(file)
        except ConfigurationError as error:
            emit_lines(map(printable, errors_of(error)))
            raise SystemExit(_WRONG) from error
    if output.document:
        emit(_as_json(assembly), output)
        return
    if output is Output.WIDE:
        emit_lines(_enabled(assembly))
    emit_lines(f"mind: {printable(caution)}" for caution in cautions(assembly))
    names = ", ".join(profile.scheduler_name for profile in assembly.profiles)
    emit_lines([printable(f"{file or 'the default configuration'}: nothing is wrong, pods are scheduled for {names}")])


def _enabled(assembly: Assembly) -> Iterator[str]:
    for profile in assembly.profiles:
        share = profile.percentage_of_nodes_to_score
        scored = "all nodes" if share is None else "an adaptive share of nodes" if share == 0 else f"{share} % of nodes"
        yield f"profile {profile.scheduler_name}, which scores {scored}"
        yield ""
        points = [(point, ", ".join(names)) for point, names in _points(profile).items() if names]
        yield from lines(("POINT", "PLUGINS"), points)
        yield ""
        given = [(name, _flat(args)) for name, args in sorted(profile.args.items())]
        if given:
            yield from lines(("PLUGIN", "ARGS"), given)
            yield ""
    yield from lines(("KNOWN", "FROM"), sorted(known().items()))
    yield ""
    yield f"known to kube-scheduler and not here: {', '.join(sorted(KNOWN_UNIMPLEMENTED))}"
    yield ""


def _points(profile: ResolvedProfile) -> Mapping[str, list[str]]:
    """The plugins of each extension point; Score plugins have their weights."""
    return {
        point: [f"{each.name}*{each.weight}" if point == "score" else each.name for each in plugins]
        for point, plugins in profile.points.items()
    }


def _plain(args: object) -> Any:
    return args.model_dump(mode="json", by_alias=True) if isinstance(args, BaseModel) else args


def _flat(args: object) -> str:
    plain = _plain(args)
    if not isinstance(plain, dict):
        return as_json(plain)
    given = {key: value for key, value in plain.items() if value not in (None, [], {})}
    return ", ".join(f"{key}={value if isinstance(value, str) else as_json(value)}" for key, value in given.items())


def _as_json(assembly: Assembly) -> dict[str, object]:
    return {
        "profiles": [
            {
                "schedulerName": profile.scheduler_name,
                "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
                "points": {
                    point: [{"name": each.name, "weight": each.weight} for each in plugins]
                    for point, plugins in profile.points.items()
                },
                "args": {name: _plain(args) for name, args in profile.args.items()},
                "unimplemented": list(profile.unimplemented),
            }
            for profile in assembly.profiles
        ],
        "known": known(),
        "cautions": list(cautions(assembly)),
    }
