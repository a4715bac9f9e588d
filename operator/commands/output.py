"""The output of commands: the forms of `-o`, as kubectl names them, and what a terminal shows until there is any."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import click
import msgspec
import yaml

_INDENT = 4
_ERASE = "\r\x1b[K"
"""What takes the line off a terminal again."""
_ANY_LENGTH = 1_000_000


class Output(StrEnum):
    """The formats of `-o`; the default is a table."""

    TABLE = ""
    WIDE = "wide"
    YAML = "yaml"
    JSON = "json"
    NAME = "name"

    @property
    def document(self) -> bool:
        """Whether the format is a document for programs."""
        return self in (Output.YAML, Output.JSON)


def output_option(*forms: Output) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `-o` for a command with these formats besides its table."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([form.value for form in forms]),
        callback=lambda _context, _option, value: Output(value or ""),
        help="How to print it. Default: a table.",
    )


def emit(document: object, output: Output) -> None:
    """Print a document of any type that msgspec can encode."""
    encoded = msgspec.json.encode(document)
    if output is Output.JSON:
        click.echo(msgspec.json.format(encoded, indent=_INDENT))
    else:
        plain = msgspec.json.decode(encoded)
        click.echo(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=_ANY_LENGTH), nl=False)


def emit_lines(lines: Iterable[str]) -> None:
    """Print lines unchanged."""
    for line in lines:
        click.echo(line)


@contextmanager
def busy(doing: str) -> Iterator[None]:
    """Show on the terminal what is being done as long as the block lasts; nothing if standard error is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    click.echo(f"{doing} …", nl=False, err=True)
    try:
        yield
    finally:
        click.echo(_ERASE, nl=False, err=True)
