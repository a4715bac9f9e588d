"""`muster replay`: decide a recording again."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from muster.framework.config import load
from muster.operator.process.settings import assemble, read_configuration, with_scheduler_names
from muster.operator.recording.names import anonymous_copy
from muster.operator.recording.reader import Recording, RecordingError
from muster.operator.recording.replay import replay
from muster.operator.recording.report import document, lines

from .common import BadInputError, bad_input, config_option
from .output import Output, emit, emit_lines, output_option

DIFFERS = 1
_WITHOUT_EXTENDERS = (
    "mind: the configuration has extenders, which a replay does not ask: differences leave out their answers"
)


@contextmanager
def _silence() -> Iterator[None]:
    """Disable logging of errors, which were logged when the events were recorded."""
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@click.command("replay")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@config_option
@click.option("--all", "everything", is_flag=True, help="Show every pod with another outcome.")
@click.option(
    "--anonymous-copy",
    "copy",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OTHER",
    help="Write the recording with other names, for others to have, and decide nothing.",
)
@output_option(Output.JSON, Output.YAML)
def command(*, files: Sequence[Path], config: Path | None, everything: bool, copy: Path | None, output: Output) -> None:
    """Decide again what muster run --record has written down, and show what is decided differently.

    With the configuration that was recorded, or with the one in --config, by this version of Muster and the plugins
    that are installed. The cluster is the recorded one: each pod is decided on it as it was, whatever would have become
    of the pods before it. A recording that has become two files is given as FILE.1 FILE.

    Exit codes: 0 when every decision is the same, 1 when not, 2 for bad input.
    """
    with bad_input(), _silence():
        try:
            recording = Recording(*files)
            recorded = load(json.dumps(recording.head.configuration).encode(), str(files[0]))
            if copy is not None:
                anonymous_copy(recording, copy, assemble(recorded))
                return
            names = [profile.scheduler_name or "" for profile in recorded.profiles]
            configuration = recorded if config is None else read_configuration(config)
            if len(configuration.profiles) == 1:
                configuration = with_scheduler_names(configuration, names)
            assembly = assemble(configuration, source=str(config or files[0]))
            if configuration.extenders:
                click.echo(_WITHOUT_EXTENDERS, err=True)
            comparison = replay(recording, replace(assembly, assumed_ttl=recording.head.assumed_ttl))
        except RecordingError as error:
            raise BadInputError(str(error)) from error
    if output.document:
        emit(document(comparison), output)
    else:
        emit_lines(lines(comparison, everything=everything))
    if not comparison.agrees:
        raise SystemExit(DIFFERS)
