"""Results of benchmarks and the tables of the pages: `python -m bench measure | tables | record | commit`."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
import msgspec

from bench.every import BENCHMARKS, Measurement
from bench.provenance import DirtyTreeError, measured_commit
from bench.published import block_of, brought_up_to_date, pages
from bench.results import read_all, record
from bench.tables import BLOCKS


@click.group(context_settings={"show_default": True})
def main() -> None:
    """Run the benchmarks of the pages, store results, and print the tables that show them."""


@main.command()
@click.argument("names", nargs=-1, type=click.Choice(list(BENCHMARKS)))
@click.option("--again", is_flag=True, help="Measure also what was measured at this commit.")
def measure(names: tuple[str, ...], again: bool) -> None:
    """Run the benchmarks NAMES, or all, and store each result at once."""
    with _clean_tree():
        failures = Measurement(tell=lambda line: click.echo(line, err=True)).measure_all(
            names or tuple(BENCHMARKS), again=again
        )
    if failures:
        raise click.ClickException("\n".join(failures))


@main.command()
def commit() -> None:
    """Print the commit to which a result measured now would belong."""
    with _clean_tree():
        click.echo(measured_commit())


@main.command()
@click.argument("names", nargs=-1, type=click.Choice(list(BLOCKS)))
@click.option("--write", is_flag=True, help="Bring the pages up to date instead.")
def tables(names: tuple[str, ...], write: bool) -> None:
    """Print the tables NAMES, or all, in Markdown."""
    results = read_all()
    if write:
        for page in pages():
            page.write_text(brought_up_to_date(page.read_text(), results))
        return
    for name in names or BLOCKS:
        click.echo(f"{block_of(name, results)}\n")


@main.command("record")
@click.argument("name")
@click.argument("arguments", nargs=-1)
def record_output(name: str, arguments: tuple[str, ...]) -> None:
    """Store a JSON object as the result NAME: from standard input, or from the output of Python with ARGUMENTS.

    Only the latter records the command and its time, and the commit at its start.
    """
    if arguments:
        _record_run(name, arguments)
        return
    try:
        data = msgspec.convert(json.load(sys.stdin), dict)
    except (json.JSONDecodeError, msgspec.ValidationError) as error:
        raise click.ClickException(f"standard input is not a JSON object: {error}") from error
    with _clean_tree():
        result = record(name, data)
    click.echo(f"{name}: recorded at {result.commit}")


def _record_run(name: str, arguments: Sequence[str]) -> None:
    with _clean_tree():
        failure, seconds = Measurement(tell=click.echo).measure(name, arguments)
    if failure:
        raise click.ClickException(f"{name}: {failure} after {seconds:.0f} s")
    click.echo(f"{name}: done after {seconds:.0f} s")


@contextmanager
def _clean_tree() -> Iterator[None]:
    try:
        yield
    except DirtyTreeError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
