"""Results of benchmarks: `python -m bench record NAME`."""

import json
import sys

import click

from bench.provenance import DirtyTreeError
from bench.results import record


@click.group(context_settings={"show_default": True})
def main() -> None:
    """Keep results of benchmarks."""


@main.command("record")
@click.argument("name")
def record_input(name: str) -> None:
    """Keep a result that comes as a JSON object on standard input."""
    try:
        result = record(name, json.load(sys.stdin))
    except DirtyTreeError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{name}: recorded at {result.commit}")


if __name__ == "__main__":
    main()
