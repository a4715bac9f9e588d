"""How a comparison ends: its summary as one line of JSON on standard output, and as a result where it is to be kept."""

import json
from collections.abc import Mapping
from typing import Any

import click

from bench.provenance import DirtyTreeError, Provenance, provenance
from bench.results import record


def origin(*, keep: bool) -> Provenance | None:
    """Where the result of a run that begins now comes from; None where it is not to be kept.

    A tree with uncommitted changes ends the command before it has run for an hour.
    """
    try:
        return provenance() if keep else None
    except DirtyTreeError as error:
        raise click.ClickException(str(error)) from error


def summarise(name: str, data: Mapping[str, Any], origin: Provenance | None) -> None:
    """Say what was compared, and keep it as the result `name` where that has an origin."""
    print(json.dumps({"result": name, **data}), flush=True)
    if origin is not None:
        record(name, data, origin=origin)
