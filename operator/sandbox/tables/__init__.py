"""The tables that kubectl asks for instead of objects: kube-apiserver's columns for each kind.

Called by the HTTP edge when a client accepts `as=Table`. Kinds without columns of their own show name and creation.
"""

from collections.abc import Iterable

from muster.operator.sandbox import kinds, rules
from muster.operator.sandbox.custom import printer_columns
from muster.operator.sandbox.kinds import Kind
from muster.operator.sandbox.ledger import Entry
from muster.operator.sandbox.objects import Object, get_in, metadata
from muster.operator.sandbox.tables import custom, events, nodes, others, pods
from muster.operator.sandbox.tables.columns import CREATED_AT, NAME, Column

_COLUMNS: dict[Kind, tuple[Column, ...]] = {
    kinds.PODS: pods.COLUMNS,
    kinds.NODES: nodes.COLUMNS,
    kinds.EVENTS: events.COLUMNS,
    kinds.EVENTS_V1: events.COLUMNS,
    kinds.POD_GROUPS: custom.columns(printer_columns(kinds.POD_GROUPS)),
    kinds.NAMESPACES: others.NAMESPACES,
    kinds.LEASES: others.LEASES,
    kinds.CONFIG_MAPS: others.CONFIG_MAPS,
    kinds.SERVICE_ACCOUNTS: others.SERVICE_ACCOUNTS,
    kinds.SERVICES: others.SERVICES,
    kinds.PRIORITY_CLASSES: others.PRIORITY_CLASSES,
    kinds.POD_DISRUPTION_BUDGETS: others.POD_DISRUPTION_BUDGETS,
    kinds.REPLICATION_CONTROLLERS: others.REPLICA_SETS,
    kinds.REPLICA_SETS: others.REPLICA_SETS,
    kinds.STATEFUL_SETS: others.STATEFUL_SETS,
    kinds.DEPLOYMENTS: others.DEPLOYMENTS,
    kinds.PERSISTENT_VOLUMES: others.PERSISTENT_VOLUMES,
    kinds.PERSISTENT_VOLUME_CLAIMS: others.PERSISTENT_VOLUME_CLAIMS,
    kinds.STORAGE_CLASSES: others.STORAGE_CLASSES,
    kinds.CSI_NODES: others.CSI_NODES,
    kinds.CSI_STORAGE_CAPACITIES: others.CSI_STORAGE_CAPACITIES,
    kinds.VOLUME_ATTACHMENTS: others.VOLUME_ATTACHMENTS,
}
_GENERIC = (NAME, CREATED_AT)


def render(kind: Kind, entries: Iterable[Entry], now: float, *, include: str = "", headers: bool = True) -> Object:
    """The `meta.k8s.io/v1` Table of some objects.

    `include` is the query parameter `includeObject`: `None`, `Metadata` (the default) or `Object`. Without `headers`
    the column definitions are left out, as in all but the first event of a watch.
    """
    columns = _COLUMNS.get(kind, _GENERIC)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": [column.definition() for column in columns] if headers else [],
        "rows": [_row(kind, columns, entry.obj, now, include) for entry in entries],
    }


def _row(kind: Kind, columns: tuple[Column, ...], obj: Object, now: float, include: str) -> Object:
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
