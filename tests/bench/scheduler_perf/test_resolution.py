"""Operations get the values of a workload, and none of their fields is left out unseen."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bench.scheduler_perf.configuration import Workload
from bench.scheduler_perf.fields import OperationError
from bench.scheduler_perf.operations import (
    AllocateClaims,
    Barrier,
    Churn,
    CreateNodes,
    CreateObjects,
    CreatePods,
    DeletePods,
    Operation,
    StartCollecting,
    StopCollecting,
    UpdateObjects,
)
from bench.scheduler_perf.resolution import resolve


def resolved(workload: Workload, *operations: Mapping[str, Any], **parameters: Any) -> list[Operation]:
    return resolve(replace(workload, operations=operations, parameters={**workload.parameters, **parameters}))


def only(workload: Workload, operation: Mapping[str, Any], **parameters: Any) -> Operation:
    [found] = resolved(workload, operation, **parameters)
    return found


def test_nodes_have_the_count_of_a_parameter_and_a_label_in_turn(workload: Workload) -> None:
    strategy = {"labelKey": "zone", "labelValues": ["a", "b"]}
    raw = {"opcode": "createNodes", "countParam": "$nodes", "labelNodePrepareStrategy": strategy}
    assert only(workload, raw) == CreateNodes(count=5, prefix="node-0-", label=("zone", ["a", "b"]))


def test_nodes_may_take_a_number_of_volumes(workload: Workload) -> None:
    limits = {"nodeAllocatable": {"x": "39"}, "csiNodeAllocatable": {"ebs": {"count": 39}}, "migratedPlugins": ["aws"]}
    raw = {"opcode": "createNodes", "count": 1, "nodeAllocatableStrategy": limits}
    assert only(workload, raw) == CreateNodes(count=1, prefix="node-0-", volumes={"ebs": 39}, migrated=["aws"])


def test_pods_are_as_many_as_groups_times_their_size(workload: Workload) -> None:
    raw = {"opcode": "createPods", "countParam": "$groups", "countMultiplierParam": "$size", "namespace": "here"}
    assert only(workload, raw, groups=3, size=4) == CreatePods(count=12, namespace="here")


def test_pods_without_a_namespace_or_a_template_get_that_of_their_place_and_case(workload: Workload) -> None:
    case = replace(workload, pod_template="../pods/pod.yaml")
    raw = {"opcode": "createPods", "count": 1, "skipWaitToCompletion": True, "signatureBatchSizeParam": "$batch"}

    found = resolved(case, {"opcode": "barrier"}, raw, batch=10)

    template = (workload.folder / "../pods/pod.yaml").resolve()
    assert found[1] == CreatePods(count=1, namespace="namespace-1", template=template, waits=False, alike=10)


def test_pods_are_kept_steady_for_as_long_as_a_parameter_says(workload: Workload) -> None:
    raw = {"opcode": "createPods", "count": 1, "steadyStateParam": "$steady", "durationParam": "$duration"}
    for steady, seconds in ((True, 10.0), (False, None)):
        found = only(workload, {**raw, "collectMetrics": True}, steady=steady, duration="10s")
        assert found == CreatePods(count=1, namespace="namespace-0", collects=True, steady_seconds=seconds)


def test_a_set_of_pods_is_an_operation_for_each_namespace_and_later_places_count_them(workload: Workload) -> None:
    nested = {"opcode": "createPods", "countParam": "$each"}
    several = {"opcode": "createPodSets", "count": 2, "namespacePrefix": "init", "createPodsOp": nested}

    found = resolved(workload, several, {"opcode": "createPods", "count": 1}, each=4)

    assert found == [
        CreatePods(count=4, namespace="init-0"),
        CreatePods(count=4, namespace="init-1"),
        CreatePods(count=1, namespace="namespace-2"),
    ]


def test_values_of_templates_are_literal_or_those_of_parameters_or_their_defaults(workload: Workload) -> None:
    values = {"a": "$nodes", "b": "$missing|2", "c": "$missing|", "d": 7, "e": "text", "f": "$none|3"}
    raw = {"opcode": "createAny", "templatePath": "x.yaml", "templateParams": values}

    found = only(workload, raw, none=None)

    assert isinstance(found, CreateObjects)
    assert found.values == {"a": 5, "b": 2, "c": None, "d": 7, "e": "text", "f": None}
    assert (found.count, found.template, found.are_groups) == (1, workload.folder / "x.yaml", False)


def test_every_other_operation_is_known(workload: Workload) -> None:
    labels = {"type": "blocker"}
    found = resolved(
        workload,
        {"opcode": "createPodGroups", "countParam": "$nodes", "namespace": "g", "templatePath": "g.yaml"},
        {"opcode": "updateAny", "countParam": "$nodes", "templatePath": "u.yaml", "updatePerSecond": 100},
        {
            "opcode": "deletePods",
            "namespace": "d",
            "deletePodsPerSecond": 50,
            "labelSelector": labels,
            "skipWaitToCompletion": True,
        },
        {"opcode": "churn", "mode": "recreate", "number": 1, "templatePaths": ["c.yaml"]},
        {"opcode": "barrier", "stageRequirement": "Attempted", "labelSelector": labels},
        {"opcode": "startCollectingMetrics", "name": "n", "namespaces": ["a", "b"], "labelSelector": labels},
        {"opcode": "stopCollectingMetrics"},
        {"opcode": "allocResourceClaims", "namespace": "init"},
    )
    folder = workload.folder
    assert found == [
        CreateObjects(count=5, template=folder / "g.yaml", namespace="g", are_groups=True),
        UpdateObjects(count=5, template=folder / "u.yaml", per_second=100),
        DeletePods(namespace="d", per_second=50, selector=labels),
        Churn(namespace="namespace-3", templates=[folder / "c.yaml"], recreates=True, number=1, interval_seconds=0.5),
        Barrier(tried=True, selector=labels),
        StartCollecting(namespaces=["a", "b"], selector=labels),
        StopCollecting(),
        AllocateClaims("init"),
    ]


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ({"opcode": "createWeather"}, "Case/small: the operation 'createWeather' is not known"),
        ({"opcode": "barrier", "colour": "red"}, "Case/small, barrier: colour is not known"),
        ({"opcode": "createPods", "countParam": "$pods"}, r"Case/small, createPods: \$pods has no value"),
        ({"opcode": "createAny", "templatePath": "x", "templateParams": {"a": "$b"}}, "createAny: b has no value"),
        ({"opcode": "createAny"}, "createAny: templatePath is missing"),
        ({"opcode": "deletePods", "namespace": "n", "deletePodsPerSecond": 1}, "deletePods is waited for"),
    ],
)
def test_operations_and_fields_that_are_unknown_or_have_no_value_are_refused(
    workload: Workload, raw: Mapping[str, Any], fault: str
) -> None:
    with pytest.raises(OperationError, match=fault):
        only(workload, raw)
