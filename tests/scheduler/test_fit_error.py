"""The text of FailedScheduling, as kube-scheduler writes it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from muster.framework.contract import Diagnosis, Status, StatusTable
from muster.framework.contract.status import LONGEST
from muster.framework.contract.verdicts import fit_error, fit_error_of_one

CPU, MEMORY = Status.unschedulable("Insufficient cpu"), Status.unschedulable("Insufficient memory")
BOTH = Status.unschedulable("Insufficient cpu", "Insufficient memory")
FULL, TAINTED = Status.unschedulable("full"), Status.unresolvable("tainted")


def diagnosis(nodes: int, rejections: Sequence[Mapping[int, Status]], **more: object) -> Diagnosis:
    """What came of so many nodes; for each plugin, by node, its rejection."""
    rejector, codes, tables = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32), []
    for index, verdicts in enumerate(rejections, start=1):
        table = StatusTable()
        for node, status in verdicts.items():
            rejector[node], codes[node] = index, table.number(status)
        tables.append(table)
    names = [f"n{node}" for node in range(nodes)]
    plugins = [f"P{index}" for index in range(len(tables))]
    return Diagnosis(names, rejector, codes, plugins, tables, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            diagnosis(5, [{0: FULL}, dict.fromkeys(range(1, 5), TAINTED)]),
            "0/5 nodes are available: 1 full, 4 tainted.",
        ),
        # Parts are sorted as whole texts, so 10 comes before 2.
        (
            diagnosis(12, [dict.fromkeys(range(10), TAINTED) | {10: FULL, 11: FULL}]),
            "0/12 nodes are available: 10 tainted, 2 full.",
        ),
        # Every reason of a node counts, whoever gave it.
        (
            diagnosis(3, [{0: BOTH, 1: MEMORY}, {2: MEMORY}]),
            "0/3 nodes are available: 1 Insufficient cpu, 3 Insufficient memory.",
        ),
        (
            diagnosis(3, [{0: CPU}], absent=Status.unresolvable("left out")),
            "0/3 nodes are available: 1 Insufficient cpu, 2 left out.",
        ),
        (
            diagnosis(2, [], absent=Status.unresolvable("no claim"), prefilter_message="no claim"),
            "0/2 nodes are available: no claim.",
        ),
        (
            diagnosis(1, [{0: CPU}], postfilter_message="preemption: found nobody."),
            "0/1 nodes are available: 1 Insufficient cpu. preemption: found nobody.",
        ),
        (
            diagnosis(1, [], prefilter_message="no claim", postfilter_message="preemption: not helpful."),
            "0/1 nodes are available: no claim. preemption: not helpful.",
        ),
        (diagnosis(0, []), "0/0 nodes are available:"),
    ],
)
def test_reasons_are_counted_and_sorted(found: Diagnosis, text: str) -> None:
    assert fit_error(found) == text


def test_a_pod_rejected_on_its_node_has_a_reason_about_that_one_node() -> None:
    status = Status.unschedulable("not today", "nor tomorrow").by("Permit")

    assert fit_error_of_one(status) == "0/1 nodes are available: 1 nor tomorrow, 1 not today."


def test_reasons_are_reported_up_to_the_length_of_a_status() -> None:
    many = Status.unresolvable(*(f"Insufficient example.com/{n:05d}" for n in range(10_000)))
    text = fit_error(diagnosis(5, [dict.fromkeys(range(5), many)], postfilter_message="preemption: none."))
    assert text.startswith("0/5 nodes are available: 5 Insufficient example.com/00000, 5 Insufficient ")
    assert text.endswith(" .... preemption: none.")
    assert len(text) < LONGEST + 100
