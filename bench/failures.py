"""How a benchmark can fail, and how its command then ends."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from bench.client import RefusedError
from bench.ledger import WrongRunError
from bench.progress import Bars
from tests.controlplane.binaries import MissingBinaryError
from tests.controlplane.plane import KubectlError
from tests.controlplane.server import StartError


class StalledError(Exception):
    """A side did not finish; the text says how far it came and ends with its log."""


FAILURES = (
    StalledError,
    WrongRunError,
    RefusedError,
    TimeoutError,
    ExceptionGroup,
    StartError,
    MissingBinaryError,
    KubectlError,
)
"""What a benchmark can end with."""


@contextmanager
def failures_told() -> Iterator[Bars]:
    """Bars that show how far the benchmark is. One of `FAILURES` ends the command with its text."""
    try:
        with Bars() as bars:
            yield bars
    except FAILURES as error:
        raise click.ClickException(text_of(error)) from error


def text_of(error: Exception) -> str:
    """What went wrong; of a group of errors, each once."""
    if isinstance(error, ExceptionGroup):
        return "\n\n".join(dict.fromkeys(text_of(each) for each in error.exceptions))
    return str(error) or type(error).__name__
