"""The tables that kubectl asks for instead of objects: kube-apiserver's columns for each kind.

Called by the HTTP edge when a client accepts `as=Table`. Kinds without columns of their own show name and creation.
"""

from collections.abc import Iterable

from muster.sandbox import kinds, rules
from muster.sandbox.ledger import Entry
from muster.sandbox.objects import Object, get_in, metadata
from muster.sandbox.registry import Kind
from muster.sandbox.tables import cluster, pods, storage, workloads
from muster.sandbox.tables.columns import AGE, CREATED_AT, NAME, Column, custom_columns

_NAME_AND_AGE = (NAME, AGE)
_COLUMNS: dict[Kind, tuple[Column, ...]] = {
    kinds.PODS: pods.COLUMNS,
    kinds.NODES: cluster.NODES,
    kinds.EVENTS: cluster.EVENTS,
    kinds.EVENTS_V1: cluster.EVENTS,
    kinds.NAMESPACES: cluster.NAMESPACES,
    kinds.LEASES: cluster.LEASES,
    kinds.CONFIG_MAPS: cluster.CONFIG_MAPS,
    kinds.SERVICE_ACCOUNTS: _NAME_AND_AGE,
    kinds.RESOURCE_QUOTAS: _NAME_AND_AGE,
    kinds.SERVICES: workloads.SERVICES,
    kinds.PRIORITY_CLASSES: cluster.PRIORITY_CLASSES,
    kinds.POD_DISRUPTION_BUDGETS: workloads.POD_DISRUPTION_BUDGETS,
    kinds.ROLE_BINDINGS: cluster.ROLE_BINDINGS,
    kinds.CLUSTER_ROLE_BINDINGS: cluster.ROLE_BINDINGS,
    kinds.REPLICATION_CONTROLLERS: workloads.REPLICA_SETS,
    kinds.REPLICA_SETS: workloads.REPLICA_SETS,
    kinds.STATEFUL_SETS: workloads.STATEFUL_SETS,
    kinds.DEPLOYMENTS: workloads.DEPLOYMENTS,
    kinds.PERSISTENT_VOLUMES: storage.PERSISTENT_VOLUMES,
    kinds.PERSISTENT_VOLUME_CLAIMS: storage.PERSISTENT_VOLUME_CLAIMS,
    kinds.JOBS: workloads.JOBS,
    kinds.NATIVE_POD_GROUPS: workloads.NATIVE_POD_GROUPS,
    kinds.COMPOSITE_POD_GROUPS: workloads.COMPOSITE_POD_GROUPS,
    kinds.WORKLOADS: _NAME_AND_AGE,
    kinds.CSI_DRIVERS: storage.CSI_DRIVERS,
    kinds.DEVICE_CLASSES: _NAME_AND_AGE,
    kinds.DEVICE_TAINT_RULES: storage.DEVICE_TAINT_RULES,
    kinds.RESOURCE_CLAIMS: storage.RESOURCE_CLAIMS,
    kinds.RESOURCE_CLAIM_TEMPLATES: _NAME_AND_AGE,
    kinds.RESOURCE_SLICES: storage.RESOURCE_SLICES,
    kinds.STORAGE_CLASSES: storage.STORAGE_CLASSES,
    kinds.CSI_NODES: storage.CSI_NODES,
    kinds.VOLUME_ATTACHMENTS: storage.VOLUME_ATTACHMENTS,
}
_GENERIC = (NAME, CREATED_AT)


def render(kind: Kind, entries: Iterable[Entry], now: float, *, include: str = "", headers: bool = True) -> Object:
    """The `meta.k8s.io/v1` Table of some objects.

    `include` is the query parameter `includeObject`: `None`, `Metadata` (the default) or `Object`. Without `headers`
    the column definitions are left out, as in all but the first event of a watch.
    """
    columns = custom_columns(kind.custom.printer_columns) if kind.custom else _COLUMNS.get(kind, _GENERIC)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": [column.definition() for column in columns] if headers else [],
        "rows": [_row(kind, columns, entry.obj, now, include=include) for entry in entries],
    }


def _row(kind: Kind, columns: tuple[Column, ...], obj: Object, now: float, *, include: str) -> Object:
    stored = rules.to_stored(kind, obj)
    row: Object = {"cells": [column.cell(stored, now) for column in columns]}
    phase = get_in(obj, ("status", "phase"))
    if kind is kinds.PODS and phase in ("Succeeded", "Failed"):
        message = "The pod has completed successfully." if phase == "Succeeded" else "The pod failed."
        row["conditions"] = [{"type": "Completed", "status": "True", "reason": phase, "message": message}]
    if include == "Object":
        row["object"] = obj
    elif include != "None":
        row["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata(obj),
        }
    return row
