"""Outcomes of tests: Ginkgo's reports, read; and both sides' outcomes, compared test by test.

`tests.conformance.suite` reads a line of JSON for each test that has ended. `python -m tests.conformance` keeps what is
compared here as the result `e2e`, and fails for regressions. Everything here is pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import msgspec

from bench.tables.speed import BASELINE, SUBJECT

PASSED, SKIPPED = "passed", "skipped"
_TOLD = 200
_NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a test ended.

    Attributes:
        name: its whole name, with the labels in brackets.
        state: `passed`, `failed`, `skipped`, `timedout` and so on, in Ginkgo's words.
        seconds: how long it took, with all that it waited for before and after.
        message: file and line of the check that failed and the beginning of what it said, or why it was skipped.
    """

    name: str
    state: str
    seconds: float
    message: str = ""

    @property
    def has_passed(self) -> bool:
        """Whether the test ran, and found nothing wrong."""
        return self.state == PASSED

    @property
    def has_failed(self) -> bool:
        """Whether the test ended in a way that makes the program fail."""
        return self.state not in (PASSED, SKIPPED)


class _Location(msgspec.Struct, rename="pascal"):
    file_name: str = ""
    line_number: int = 0


class _Failure(msgspec.Struct, rename="pascal"):
    message: str = ""
    location: _Location = msgspec.field(default_factory=_Location)

    def told(self) -> str:
        """Where it failed and what was said there, in one line; nothing for none."""
        at = self.location
        place = [f"{PurePosixPath(at.file_name).name}:{at.line_number}:"] if at.file_name else []
        return " ".join([*place, *self.message.split()])


class _Report(msgspec.Struct, rename="pascal"):
    leaf_node_type: str
    leaf_node_text: str
    state: str
    run_time: int
    num_attempts: int
    container_hierarchy_texts: list[str] | None = None
    failure: _Failure = msgspec.field(default_factory=_Failure)


_decoder = msgspec.json.Decoder(_Report)


def read(line: bytes) -> Outcome | None:
    """The outcome in a line of Ginkgo's reports; None for what was not attempted. Raises `msgspec.DecodeError`.

    Ginkgo calls a test skipped that was not chosen, and one that found the cluster unfit. It calls a test passed that
    it only looked at before the run. Only what was attempted has become anything.
    """
    report = _decoder.decode(line)
    if report.leaf_node_type != "It" or not report.num_attempts:
        return None
    name = " ".join(filter(None, [*(report.container_hierarchy_texts or ()), report.leaf_node_text]))
    return Outcome(name, report.state, round(report.run_time / _NANOSECONDS, 1), report.failure.told()[:_TOLD])


@dataclass(frozen=True, slots=True)
class Compared:
    """A test, and its outcome with either scheduler; None where it did not run."""

    name: str
    theirs: Outcome | None
    ours: Outcome | None

    @property
    def is_regression(self) -> bool:
        """Whether kube-scheduler passes it, and Muster does not."""
        return self.theirs is not None and self.theirs.has_passed and not (self.ours and self.ours.has_passed)


def compare(theirs: Sequence[Outcome], ours: Sequence[Outcome]) -> list[Compared]:
    """Every test that either side ran, by name."""
    first, second = ({each.name: each for each in outcomes} for outcomes in (theirs, ours))
    return [Compared(name, first.get(name), second.get(name)) for name in sorted(first.keys() | second.keys())]


def regressions(compared: Sequence[Compared]) -> Iterator[str]:
    """A line for each test that Muster fails and kube-scheduler passes."""
    for each in compared:
        if each.is_regression:
            yield f"{each.name}: {_words(each.ours)}"


def document(compared: Sequence[Compared], *, version: str, seed: int) -> Mapping[str, Any]:
    """What is kept as a result: the tests of a version of Kubernetes, in the order of a seed."""
    tests = [
        {"name": each.name, "sides": {BASELINE: _kept(each.theirs), SUBJECT: _kept(each.ours)}} for each in compared
    ]
    return {"kubernetes": version, "seed": seed, "tests": tests}


def _words(outcome: Outcome | None) -> str:
    if outcome is None:
        return "did not run"
    return f"{outcome.state}, {outcome.message}" if outcome.message else outcome.state


def _kept(outcome: Outcome | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    kept = {"state": outcome.state, "seconds": outcome.seconds}
    return {**kept, "message": outcome.message} if outcome.message else kept
