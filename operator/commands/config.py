"""`muster config`: the effective configuration of a file, before a scheduler runs with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

from muster.framework.config import ConfigurationError, ResolvedProfile
from muster.operator.explain.layout import lines
from muster.operator.process.settings import Assembly, assemble, cautions, read_configuration
from muster.plugins.catalog import KNOWN_UNIMPLEMENTED, known

from .common import BAD_INPUT, bad_input
from .output import Output, emit, emit_lines, output_option


@click.group("config")
def command() -> None:
    """Check configuration files."""


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@output_option(Output.YAML, Output.JSON)
def check(file: Path | None, output: Output) -> None:
    """Print what FILE, a KubeSchedulerConfiguration, comes to; without FILE, what Muster runs by default.

    That is each profile with its plugins in calling order, the plugins that are installed, and what may not be what was
    meant. What is wrong is told line by line, with exit code 2.
    """
    try:
        with bad_input():
            assembly = _assembled(file)
    except _WrongError as error:
        emit_lines(f"{file}: {text}" for text in error.args)
        raise SystemExit(BAD_INPUT) from error
    if output.document:
        emit(_as_json(assembly), output)
    else:
        emit_lines(_told(assembly))


class _WrongError(Exception):
    """The errors of the file: a text each."""


def _assembled(file: Path | None) -> Assembly:
    try:
        return assemble(read_configuration(file))
    except ConfigurationError as error:
        raise _WrongError(*(problem.text for problem in error.errors)) from error


def _told(assembly: Assembly) -> Iterator[str]:
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
    for caution in cautions(assembly):
        yield f"mind: {caution}"
    yield "nothing is wrong"


def _points(profile: ResolvedProfile) -> Mapping[str, list[str]]:
    """The plugins of each extension point, those that score with their weights."""
    return {
        point: [f"{each.name}*{each.weight}" if point == "score" else each.name for each in plugins]
        for point, plugins in profile.points.items()
    }


def _plain(args: object) -> Any:
    return args.model_dump(mode="json", by_alias=True) if isinstance(args, BaseModel) else args


def _flat(args: object) -> str:
    plain = _plain(args)
    if not isinstance(plain, dict):
        return str(plain)
    return ", ".join(f"{key}={value}" for key, value in plain.items() if value not in (None, [], {}))


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
