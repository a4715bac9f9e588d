"""Ginkgo's reports, read, and both sides compared."""

import json

import pytest

from tests.conformance.report import Outcome, compare, document, read, regressions

NAME = "[sig-scheduling] SchedulerPredicates validates resource limits of pods [Conformance] [Serial]"


def line(state: str, *, kind: str = "It", message: str | None = None, attempts: int = 1) -> bytes:
    """A report as Ginkgo writes it, as far as it is read, and a field that is not."""
    report = {
        "ContainerHierarchyTexts": ["[sig-scheduling] SchedulerPredicates"],
        "LeafNodeType": kind,
        "LeafNodeText": "validates resource limits of pods [Conformance] [Serial]",
        "State": state,
        "RunTime": 12_345_678_901,
        "NumAttempts": attempts,
    }
    location = {"FileName": "k8s.io/kubernetes@v1.37.1/test/e2e/scheduling/predicates.go", "LineNumber": 645}
    failure = {"Failure": {"Message": message, "Location": location}} if message is not None else {}
    return json.dumps(report | failure).encode()


def test_a_test_that_passed_is_read_with_its_whole_name_and_its_time() -> None:
    assert read(line("passed")) == Outcome(NAME, "passed", 12.3)


def test_a_test_that_failed_is_read_with_where_it_did_and_the_beginning_of_what_it_said_in_one_line() -> None:
    outcome = read(line("failed", message=f"Timed out\n  after 300s.\n{'x' * 1000}"))

    assert outcome is not None
    assert outcome.message.startswith("predicates.go:645: Timed out after 300s. xxx")
    assert len(outcome.message) == 200


def test_a_test_that_found_the_cluster_unfit_is_an_outcome() -> None:
    assert read(line("skipped", message="needs 2 zones")) == Outcome(
        NAME, "skipped", 12.3, "predicates.go:645: needs 2 zones"
    )


@pytest.mark.parametrize("state", ["skipped", "passed"])
def test_a_test_without_an_attempt_is_no_outcome_whatever_ginkgo_calls_it(state: str) -> None:
    assert read(line(state, attempts=0)) is None


def test_reports_from_before_and_after_all_tests_are_no_outcomes() -> None:
    assert read(line("passed", kind="BeforeSuite")) is None


def outcome(name: str, state: str) -> Outcome:
    return Outcome(name, state, 1.0, "" if state == "passed" else "why")


@pytest.mark.parametrize(
    ("theirs", "ours", "found"),
    [
        ("passed", "passed", []),
        ("passed", "failed", ["t: failed, why"]),
        ("passed", "timedout", ["t: timedout, why"]),
        ("passed", "skipped", ["t: skipped, why"]),
        ("passed", None, ["t: did not run"]),
        ("failed", "failed", []),
        ("failed", "passed", []),
        ("skipped", "skipped", []),
        (None, "failed", []),
    ],
)
def test_muster_answers_for_what_kube_scheduler_passes_and_it_does_not(
    theirs: str | None, ours: str | None, found: list[str]
) -> None:
    sides = [[] if state is None else [outcome("t", state)] for state in (theirs, ours)]

    assert list(regressions(compare(*sides))) == found


def test_the_kept_result_has_every_test_of_either_side_by_name() -> None:
    compared = compare([outcome("b", "passed"), outcome("a", "failed")], [outcome("b", "passed")])

    assert document(compared, version="1.37.1", seed=7) == {
        "kubernetes": "1.37.1",
        "seed": 7,
        "tests": [
            {
                "name": "a",
                "sides": {"kube-scheduler": {"state": "failed", "seconds": 1.0, "message": "why"}, "muster": None},
            },
            {
                "name": "b",
                "sides": {
                    "kube-scheduler": {"state": "passed", "seconds": 1.0},
                    "muster": {"state": "passed", "seconds": 1.0},
                },
            },
        ],
    }
