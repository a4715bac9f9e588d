"""The failures of a benchmark, and the end of its command after a failure."""

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
    """A side did not finish; the text has its progress and the end of its log."""


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
"""The errors with which a benchmark can end."""


@contextmanager
def reporting_failures() -> Iterator[Bars]:
    """Progress bars for the block. One of `FAILURES` ends the command with its text."""
    try:
        with Bars() as bars:
            yield bars
    except FAILURES as error:
        raise click.ClickException(text_of(error)) from error


def text_of(error: Exception) -> str:
    """The text of an error; for a group of errors, each text once."""
    if isinstance(error, ExceptionGroup):
        return "\n\n".join(dict.fromkeys(text_of(each) for each in error.exceptions))
    return str(error) or type(error).__name__
