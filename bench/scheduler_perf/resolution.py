"""The way from a configuration of scheduler_perf to operations: parameters get the values of a workload.

`resolve` knows the operations and fields that the configurations use, and raises `OperationError` for any other, so
that nothing of a workload is left out unseen.
"""

from collections.abc import Callable, Iterator, Mapping

from bench.scheduler_perf.configuration import Raw, Workload
from bench.scheduler_perf.fields import Fields, OperationError
from bench.scheduler_perf.operations import (
    AllocateClaims,
    Barrier,
    Churn,
    CreateNamespaces,
    CreateNodes,
    CreateObjects,
    CreatePods,
    DeletePods,
    Operation,
    StartCollecting,
    StopCollecting,
    UpdateObjects,
)
from muster.framework.config import parse_duration


def resolve(workload: Workload) -> list[Operation]:
    """The operations of a workload. Raises `OperationError`.

    A pod or a churn without a namespace goes to that with the number of its operation.
    """
    found: list[Operation] = []
    for raw in workload.operations:
        for each in _unrolled(raw, workload):
            found.append(_resolved(each, len(found), workload))
    return found


def _unrolled(raw: Raw, workload: Workload) -> Iterator[Raw]:
    """A set of pods as many operations, one for each namespace."""
    if raw.get("opcode") != "createPodSets":
        yield raw
        return
    fields = Fields(raw, workload)
    prefix, nested = fields.need("namespacePrefix"), fields.need("createPodsOp")
    count = fields.count()
    fields.end()
    for number in range(count):
        yield {**nested, "namespace": f"{prefix}-{number}"}


def _resolved(raw: Raw, number: int, workload: Workload) -> Operation:
    fields = Fields(raw, workload)
    if (make := _MAKERS.get(fields.opcode)) is None:
        raise OperationError(f"{workload.title}: the operation {fields.opcode!r} is not known")
    made = make(fields, number)
    fields.end()
    return made


def _nodes(fields: Fields, number: int) -> CreateNodes:
    """Nodes; their `nodeAllocatable` is left out, since the API server takes no status from the patch that has it."""
    limits, label = fields.take("nodeAllocatableStrategy", {}), fields.take("labelNodePrepareStrategy")
    return CreateNodes(
        count=fields.count(),
        prefix=f"node-{number}-",
        template=fields.path("nodeTemplatePath"),
        values=fields.values(),
        label=None if label is None else (label["labelKey"], label["labelValues"]),
        volumes={driver: each["count"] for driver, each in limits.get("csiNodeAllocatable", {}).items()},
        migrated=limits.get("migratedPlugins", ()),
    )


def _pods(fields: Fields, number: int) -> CreatePods:
    duration, steady = fields.value("duration", "0s"), fields.value("steadyState", False)
    return CreatePods(
        count=fields.count(),
        namespace=fields.take("namespace", f"namespace-{number}"),
        template=fields.path("podTemplatePath", fields.pod_template),
        values=fields.values(),
        alike=fields.value("signatureBatchSize", 1),
        waits=not fields.take("skipWaitToCompletion", False),
        collects=fields.take("collectMetrics", False),
        steady_seconds=parse_duration(duration) if steady else None,
        volume=fields.path("persistentVolumeTemplatePath"),
        claim=fields.path("persistentVolumeClaimTemplatePath"),
    )


def _objects(fields: Fields, number: int) -> CreateObjects:
    are_groups = fields.opcode == "createPodGroups"
    return CreateObjects(
        count=fields.count(1),
        template=fields.absolute(fields.need("templatePath")),
        namespace=fields.take("namespace"),
        values=fields.values(),
        are_groups=are_groups,
    )


def _updates(fields: Fields, number: int) -> UpdateObjects:
    return UpdateObjects(
        count=fields.count(1),
        template=fields.absolute(fields.need("templatePath")),
        namespace=fields.take("namespace"),
        per_second=fields.need("updatePerSecond"),
        subresources=fields.take("subresources", ()),
    )


def _deletion(fields: Fields, number: int) -> DeletePods:
    if not fields.take("skipWaitToCompletion", False):
        raise OperationError(f"{fields.opcode} is waited for, which is not known")
    return DeletePods(
        namespace=fields.need("namespace"),
        selector=fields.take("labelSelector", {}),
        per_second=fields.need("deletePodsPerSecond"),
    )


def _churn(fields: Fields, number: int) -> Churn:
    return Churn(
        namespace=fields.take("namespace", f"namespace-{number}"),
        templates=[*map(fields.absolute, fields.need("templatePaths"))],
        recreates=fields.need("mode") == "recreate",
        number=fields.take("number", 0),
        interval_seconds=fields.take("intervalMilliseconds", 500) / 1000,
    )


def _barrier(fields: Fields, number: int) -> Barrier:
    return Barrier(
        namespaces=fields.take("namespaces", ()),
        selector=fields.take("labelSelector", {}),
        tried=fields.take("stageRequirement", "Scheduled") == "Attempted",
    )


def _collecting(fields: Fields, number: int) -> StartCollecting:
    fields.take("name")
    return StartCollecting(namespaces=fields.need("namespaces"), selector=fields.take("labelSelector", {}))


def _namespaces(fields: Fields, number: int) -> CreateNamespaces:
    return CreateNamespaces(
        count=fields.count(), prefix=fields.need("prefix"), template=fields.path("namespaceTemplatePath")
    )


_MAKERS: Mapping[str, Callable[[Fields, int], Operation]] = {
    "createNodes": _nodes,
    "createNamespaces": _namespaces,
    "createPods": _pods,
    "createPodGroups": _objects,
    "createAny": _objects,
    "updateAny": _updates,
    "deletePods": _deletion,
    "churn": _churn,
    "barrier": _barrier,
    "startCollectingMetrics": _collecting,
    "stopCollectingMetrics": lambda fields, number: StopCollecting(),
    "allocResourceClaims": lambda fields, number: AllocateClaims(fields.need("namespace")),
}
"""By the names of operations in configurations."""
