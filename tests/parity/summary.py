"""How a comparison ends: its summary as one line of JSON on standard output, and as a result where it is to be kept.

A result has the command line and the time of the comparison, as those of benchmarks have.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from bench.provenance import DirtyTreeError, Provenance, provenance
from bench.results import Run, record


def origin(*, keep: bool) -> Provenance | None:
    """Where the result of a run that begins now comes from; None where it is not to be kept.

    A tree with uncommitted changes ends the command before it has run for an hour.
    """
    try:
        return provenance() if keep else None
    except DirtyTreeError as error:
        raise click.ClickException(str(error)) from error


def summarise(name: str, data: Mapping[str, Any], origin: Provenance | None, seconds: float) -> None:
    """Say what was compared in so many seconds, and keep it as the result `name` where that has an origin."""
    print(json.dumps({"result": name, **data}), flush=True)
    print(f"{name}: done after {seconds:.0f} s", file=sys.stderr)
    if origin is not None:
        command = " ".join(["python", *sys.orig_argv[1:]])
        record(name, data, run=Run(command=command, seconds=round(seconds, 1)), origin=origin)
