"""kube-apiserver's rules of single kinds: defaults, initial states and validation, as one table.

The store asks `of(kind)` and calls what it finds; everything here is pure. A kind without an entry is stored as it
arrives, with the common checks of its metadata.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from muster.sandbox import custom_resources, kinds
from muster.sandbox.errors import InvalidField
from muster.sandbox.objects import Object, without
from muster.sandbox.registry import Kind
from muster.sandbox.rules import cluster, devices, events, pods, storage, syntax, workloads

Completion = Callable[[Object], Object]
Beginning = Callable[[Object, str], Object]
Validation = Callable[[Object], Iterable[InvalidField]]
UpdateValidation = Callable[[Object, Object], Iterable[InvalidField]]


def _as_it_is(obj: Object) -> Object:
    return obj


def _without_status(obj: Object, now: str) -> Object:
    return without(obj, "status")


def _as_it_begins(obj: Object, now: str) -> Object:
    return obj


def _nothing_wrong(*_: Object) -> Iterable[InvalidField]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of one kind.

    `complete` fills in defaults and is harmless to repeat: it is applied to every write. `begin` gives a new object the
    state it starts in and gets the time as the second argument. `validate` looks at any completed object,
    `validate_create` at new ones only, `validate_update` at the new and the old one. `valid_name` checks the name.
    """

    complete: Completion = _as_it_is
    begin: Beginning = _as_it_begins
    validate: Validation = _nothing_wrong
    validate_create: Validation = _nothing_wrong
    validate_update: UpdateValidation = _nothing_wrong
    valid_name: syntax.Check = syntax.dns_subdomain


def _custom(kind: Kind) -> Rules:
    """The rules of a custom resource, which its definition makes."""
    assert kind.custom is not None
    schema = kind.custom.schema
    return Rules(
        complete=partial(custom_resources.completed, schema),
        begin=_without_status if "status" in kind.subresources else _as_it_begins,
        validate=partial(custom_resources.validate, schema),
    )


_RULES = {
    kinds.PODS: Rules(
        complete=pods.complete,
        begin=pods.begin,
        validate=pods.validate,
        validate_create=pods.validate_create,
        validate_update=pods.validate_update,
    ),
    kinds.NODES: Rules(complete=cluster.complete_node, validate=cluster.validate_node),
    kinds.NAMESPACES: Rules(
        complete=cluster.complete_namespace, begin=cluster.begin_namespace, valid_name=syntax.dns_label
    ),
    kinds.EVENTS: Rules(complete=events.complete, validate=events.validate, valid_name=syntax.path_segment),
    kinds.EVENTS_V1: Rules(
        complete=events.complete,
        validate=events.validate_view,
        validate_create=events.validate_create_view,
        validate_update=events.validate_update_view,
    ),
    kinds.SERVICES: Rules(
        complete=cluster.complete_service, begin=cluster.begin_service, valid_name=syntax.dns_1035_label
    ),
    kinds.LEASES: Rules(validate=cluster.validate_lease),
    kinds.PRIORITY_CLASSES: Rules(
        complete=cluster.complete_priority_class,
        validate=cluster.validate_priority_class,
        validate_update=cluster.validate_priority_class_update,
    ),
    kinds.POD_DISRUPTION_BUDGETS: Rules(
        begin=cluster.begin_disruption_budget, validate=cluster.validate_disruption_budget
    ),
    kinds.CUSTOM_RESOURCE_DEFINITIONS: Rules(
        begin=custom_resources.begin_definition, validate_create=custom_resources.validate_definition
    ),
    kinds.REPLICATION_CONTROLLERS: Rules(
        complete=workloads.complete_replication_controller,
        begin=workloads.begin,
        validate=workloads.validate_replication_controller,
    ),
    kinds.REPLICA_SETS: Rules(
        complete=workloads.complete_replica_set, begin=workloads.begin, validate=workloads.validate
    ),
    kinds.STATEFUL_SETS: Rules(
        complete=workloads.complete_stateful_set, begin=workloads.begin_stateful_set, validate=workloads.validate
    ),
    kinds.DEPLOYMENTS: Rules(
        complete=workloads.complete_deployment, begin=workloads.begin_deployment, validate=workloads.validate
    ),
    kinds.PERSISTENT_VOLUMES: Rules(
        complete=storage.complete_volume, begin=storage.begin_volume, validate=storage.validate_volume
    ),
    kinds.PERSISTENT_VOLUME_CLAIMS: Rules(
        complete=storage.complete_claim, begin=storage.begin_claim, validate=storage.validate_claim
    ),
    **dict.fromkeys(kinds.ACCESS, Rules(valid_name=syntax.path_segment)),
    kinds.STORAGE_CLASSES: Rules(complete=storage.complete_class, validate=storage.validate_class),
    kinds.JOBS: Rules(complete=workloads.complete_job, begin=workloads.begin_job, validate=workloads.validate_job),
    kinds.RESOURCE_CLAIMS: Rules(
        complete=devices.complete_claim, begin=devices.begin_claim, validate=devices.validate_claim
    ),
    kinds.DEVICE_TAINT_RULES: Rules(begin=devices.begin_taint_rule),
    kinds.RESOURCE_CLAIM_TEMPLATES: Rules(complete=devices.complete_template, validate=devices.validate_template),
    kinds.NATIVE_POD_GROUPS: Rules(
        complete=devices.complete_pod_group, begin=devices.begin_pod_group, validate=devices.validate_pod_group
    ),
    kinds.COMPOSITE_POD_GROUPS: Rules(begin=devices.begin_pod_group, validate=devices.validate_composite_pod_group),
    kinds.WORKLOADS: Rules(validate=devices.validate_workload),
    kinds.CSI_NODES: Rules(complete=storage.complete_csi_node, begin=storage.begin_csi_node),
    kinds.VOLUME_ATTACHMENTS: Rules(begin=storage.begin_attachment),
    kinds.CSI_DRIVERS: Rules(complete=storage.complete_driver),
}
_NONE = Rules()


def of(kind: Kind) -> Rules:
    """The rules of a kind."""
    return _custom(kind) if kind.custom else _RULES.get(kind, _NONE)


def to_stored(kind: Kind, obj: Object) -> Object:
    """An object that came in as `kind`, in the form it is stored in."""
    if kind.view_of is kinds.EVENTS:
        return events.to_stored(obj)
    return obj if kind.view_of is None else obj | {"apiVersion": kind.view_of.api_version}


def to_view(kind: Kind, obj: Object) -> Object:
    """A stored object in the form that `kind` shows it in."""
    if kind.view_of is kinds.EVENTS:
        return events.to_view(obj)
    return obj if kind.view_of is None else obj | {"apiVersion": kind.api_version}
