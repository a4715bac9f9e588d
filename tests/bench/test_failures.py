"""How a benchmark's command ends when something went wrong."""

import click
import pytest

from bench.failures import StalledError, reporting_failures


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (StalledError("bound 3 of 5 pods"), "bound 3 of 5 pods"),
        (TimeoutError(), "TimeoutError"),
        (
            ExceptionGroup("in tasks", [StalledError("no"), ExceptionGroup("more", [TimeoutError("late")])]),
            "no\n\nlate",
        ),
        (ExceptionGroup("in tasks", [TimeoutError("late"), TimeoutError("late")]), "late"),
    ],
    ids=["one", "without a text", "several", "one thing several times"],
)
def test_a_command_ends_with_the_text_of_what_went_wrong(error: Exception, text: str) -> None:
    with pytest.raises(click.ClickException) as ended, reporting_failures():
        raise error
    assert ended.value.message == text


def test_a_fault_of_the_benchmark_itself_is_not_made_a_text() -> None:
    with pytest.raises(KeyError), reporting_failures():
        raise KeyError("nodes")
