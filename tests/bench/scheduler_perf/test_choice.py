"""Every test case of scheduler_perf is measured or left out with a reason, and what is measured can be played."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

import pytest

from bench.scheduler_perf import objects
from bench.scheduler_perf.choice import AS_THEY_ARE, FACTOR, LEFT_OUT, SCALED, chosen
from bench.scheduler_perf.configuration import UnknownWorkloadError, Workload
from bench.scheduler_perf.operations import (
    Churn,
    CreateNamespaces,
    CreateNodes,
    CreateObjects,
    CreatePods,
    Operation,
    StartCollecting,
    UpdateObjects,
)
from bench.scheduler_perf.resolution import resolve


@pytest.fixture(scope="module")
def measured(workloads: list[Workload]) -> list[Workload]:
    """All that is measured, in the size that it is measured in."""
    return chosen(workloads, [*AS_THEY_ARE, *SCALED], FACTOR)


def test_every_test_case_is_measured_or_left_out(workloads: list[Workload], measured: list[Workload]) -> None:
    cases = {each.case for each in workloads}
    assert {each.case for each in measured} | LEFT_OUT.keys() == cases
    assert {each.case for each in measured} & LEFT_OUT.keys() == set()


def test_a_workload_is_measured_once() -> None:
    titles = [*AS_THEY_ARE, *SCALED]
    assert len(titles) == len(set(titles))


def test_large_workloads_alone_are_made_smaller(workloads: list[Workload]) -> None:
    basic, daemons = chosen(workloads, ["SchedulingBasic/500Nodes", "SchedulingDaemonset/15000Nodes"], Fraction(1, 10))
    assert basic.parameters == {"initNodes": 500, "initPods": 500, "measurePods": 1000}
    assert daemons.parameters == {"initNodes": 1500, "measurePods": 3000}


def test_a_workload_that_does_not_exist_is_not_chosen(workloads: list[Workload]) -> None:
    with pytest.raises(UnknownWorkloadError, match="SchedulingBasic/5Knots"):
        chosen(workloads, ["SchedulingBasic/5Knots"], FACTOR)


def test_every_workload_measures_pods(measured: list[Workload]) -> None:
    silent = [
        each.title
        for each in measured
        if not any(
            isinstance(operation, StartCollecting) or (isinstance(operation, CreatePods) and operation.collects)
            for operation in resolve(each)
        )
    ]
    assert silent == []


def test_every_operation_has_objects_that_can_be_made(measured: list[Workload]) -> None:
    operations = [operation for workload in measured for operation in resolve(workload)]
    kinds = {made.get("kind") for operation in operations for made in islice(objects_of(operation), 2)}
    assert kinds >= {"Node", "Pod", "PodGroup", "ResourceSlice", "ResourceClaimTemplate", "Service", "DeviceTaintRule"}


def objects_of(operation: Operation) -> Iterator[objects.Object]:
    """What an operation makes, one after another."""
    match operation:
        case CreateNodes():
            yield from objects.nodes(operation, 0)
        case CreateNamespaces():
            yield from objects.namespaces(operation)
        case CreatePods():
            if operation.claim is not None:
                objects.claim_and_volume(operation, 0)
            yield from (objects.pod(operation, index) for index in range(operation.count))
        case CreateObjects() | UpdateObjects():
            yield from objects.any_objects(operation)
        case Churn():
            yield from (objects.rendered(path, {}) for path in operation.templates)
