"""The PodGroup API, `podgroups.scheduling.x-k8s.io/v1alpha1`: its objects, their rules, and how pods join a group.

There is one model: the informer decodes PodGroups with these structs, the controller reads and writes statuses with
them, admission calls `problems`, and the custom resource definition is rendered from them. The schema accepts what
scheduler-plugins' own schema accepts, except a negative timeout, which has no meaning. Only admission checks that
quantities are well formed and that annotations are valid.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from muster.framework.contract import EventResource, WatchedKind
from muster.framework.groups import (
    GROUP_LABELS,
    HEALING_POLICY,
    HOLD_ANNOTATIONS,
    TIMING_ANNOTATIONS,
    GroupMeta,
    healing_fault,
    timing_faults,
    unknown_annotations,
)
from muster.framework.model.meta import Wire
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.quantity import QuantityError, nanos

from .disruption import MODE
from .disruption import fault as disruption_fault
from .topology import ANNOTATIONS as TOPOLOGY_ANNOTATIONS
from .topology import AnnotationError, topology_of

NAME = "Coscheduling"
"""The plugin's name."""

GROUP = "scheduling.x-k8s.io"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
PLURAL = "podgroups"
KIND = "PodGroup"
SHORT_NAMES = ("pg", "pgs")
LIST_PATH = f"/apis/{API_VERSION}/{PLURAL}"

SCHEDULED = "Scheduled"
"""The type of the condition that says whether the quorum has nodes."""

_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)


class Phase(StrEnum):
    """The phase of a group, in scheduler-plugins' words."""

    PENDING = "Pending"
    """Fewer members exist than it needs."""
    SCHEDULING = "Scheduling"
    """Enough exist, fewer than it needs run."""
    UNKNOWN = "Unknown"
    """A part of the quorum runs, and the rest cannot be placed."""
    RUNNING = "Running"
    """As many as it needs run or have succeeded."""
    FINISHED = "Finished"
    """As many as it needs have succeeded."""
    FAILED = "Failed"
    """So many have failed that its quorum cannot be reached with the members there are."""


def _text(description: str) -> Meta:
    return Meta(description=description)


def _int32(description: str, **rules: int) -> Meta:
    return Meta(description=description, extra_json_schema={"format": "int32", **rules})


def _int64(description: str) -> Meta:
    return Meta(description=description, extra_json_schema={"format": "int64"})


def _time(description: str) -> Meta:
    return Meta(description=description, extra_json_schema={"format": "date-time"})


Amount = Annotated[int | str, Meta(extra_json_schema={"pattern": _QUANTITY, "x-kubernetes-int-or-string": True})]


class PodGroupSpec(Wire):
    """The spec of a PodGroup."""

    min_member: Annotated[
        int, _int32("How many pods the group needs: they start together or not at all.", minimum=1)
    ] = 0
    min_resources: Annotated[
        dict[str, Amount], _text("What must be free for the group as a whole before any of its pods is started.")
    ] = msgspec.field(default_factory=dict)
    schedule_timeout_seconds: Annotated[
        int | None,
        _int32(
            "How long pods that hold nodes wait for the others (only with the placement PodByPod), and how long "
            "`minResources` are kept for pods to come; at most 900. Absent or 0 leaves it to the scheduler.",
            minimum=0,
        ),
    ] = None


class PodGroupCondition(Wire):
    """A condition of the group, with its reason."""

    type: Annotated[str, _text("What the statement is about. `Scheduled`: as many pods as the group needs have nodes.")]
    status: Annotated[str, _text("`True` or `False`.")]
    reason: Annotated[str | None, _text("The reason as a single word, for programs.")] = None
    message: Annotated[str | None, _text("The reason as a sentence, for people.")] = None
    last_transition_time: Annotated[str | None, _time("When `status` last changed.")] = None
    observed_generation: Annotated[int | None, _int64("The generation of the spec that the statement is about.")] = None


class PodGroupStatus(Wire):
    """The status of a PodGroup, as the scheduler saw it last."""

    phase: Annotated[str | None, _text("Pending, Scheduling, Unknown, Running, Finished or Failed.")] = None
    occupied_by: Annotated[
        str | None, _text("The owners of the group's pods, as namespace/name, separated by commas.")
    ] = None
    scheduled: Annotated[int | None, _int32("How many pods have a node, those that failed not counted.")] = None
    running: Annotated[int | None, _int32("How many pods run.")] = None
    succeeded: Annotated[int | None, _int32("How many pods have succeeded.")] = None
    failed: Annotated[int | None, _int32("How many pods have failed.")] = None
    schedule_start_time: Annotated[str | None, _time("When enough pods existed for the group to be scheduled.")] = None
    conditions: Annotated[
        tuple[PodGroupCondition, ...] | None,
        Meta(
            description="Statements on the group, one of each type.",
            extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = None
    observed_generation: Annotated[int | None, _int64("The generation of the spec that this status is about.")] = None

    def condition(self, kind: str) -> PodGroupCondition | None:
        """The condition of this type."""
        return next((condition for condition in self.conditions or () if condition.type == kind), None)


KNOWN_ANNOTATIONS = frozenset({*TOPOLOGY_ANNOTATIONS, MODE, HEALING_POLICY, *HOLD_ANNOTATIONS, *TIMING_ANNOTATIONS})
"""The annotations under Muster's prefix that a PodGroup may have."""


class PodGroup(Wire):
    """A group of pods that start together or not at all.

    The status stays JSON until it is asked for: the scheduler never does, and there may be many groups.
    """

    metadata: GroupMeta
    spec: PodGroupSpec = PodGroupSpec()
    status: msgspec.Raw = msgspec.Raw(b"{}")

    def __post_init__(self) -> None:
        """Keep the status alone, not the whole answer of the server that it is a part of."""
        msgspec.structs.force_setattr(self, "status", self.status.copy())

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return self.metadata.key

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations under Muster's prefix."""
        return self.metadata.annotations

    def read_status(self) -> PodGroupStatus:
        """The status; one that cannot be read counts as empty."""
        try:
            return _decode_status(self.status)
        except msgspec.DecodeError:
            return PodGroupStatus()


_decode_status = msgspec.json.Decoder(PodGroupStatus).decode

POD_GROUPS = WatchedKind(EventResource.POD_GROUP, LIST_PATH, PodGroup, optional=True)

_LABELS = frozenset(GROUP_LABELS)


def group_key(pod: PodInfo) -> str | None:
    """`namespace/name` of the group that the pod's labels name; None for a pod of no group.

    `spec.schedulingGroup` goes before labels: a pod that has both is a member of Kubernetes' own group alone.
    """
    if pod.pod.spec.scheduling_group is not None or _LABELS.isdisjoint(pod.labels):
        return None
    return group_named(pod.namespace, pod.labels)


def group_named(namespace: str, labels: Mapping[str, str]) -> str | None:
    """`namespace/name` of the group that the labels of a pod in this namespace name; None for no group."""
    for label in GROUP_LABELS:
        name = labels.get(label)
        if name:
            return f"{namespace}/{name}"
    return None


def problems(group: Mapping[str, Any]) -> list[str]:
    """The problems with a PodGroup in its JSON form: a line for each field, in the API server's style."""
    misshapen = [*_misshapen(group)]
    if misshapen:
        return [f"{path}: Invalid value: {json.dumps(value)}: {fault}" for path, value, fault in misshapen]
    spec = group.get("spec") or {}
    found = [
        *_integer(spec, "minMember", least=1),
        *_quantities(spec, "minResources"),
        *_timeout(spec.get("scheduleTimeoutSeconds")),
    ]
    lines = [_spec_line(*each) for each in found]
    annotations = (group.get("metadata") or {}).get("annotations") or {}
    try:
        topology_of(annotations)
    except AnnotationError as error:
        lines.append(str(error))
    lines += filter(None, (disruption_fault(annotations), healing_fault(annotations), *timing_faults(annotations)))
    return lines + unknown_annotations(annotations, KNOWN_ANNOTATIONS)


def timeout_fault(group: PodGroup) -> str:
    """The problem with the timeout of a group that an older schema let through; "" for none."""
    return "".join(_spec_line(*each) for each in _timeout(group.spec.schedule_timeout_seconds))


def _spec_line(path: str, value: object, fault: str) -> str:
    return f"spec.{path}: Invalid value: {json.dumps(value)}: {fault}"


def _misshapen(group: Mapping[str, Any]) -> Iterator[tuple[str, object, str]]:
    """The problems of objects that the API server refuses, but that a client of the webhook itself may send."""
    metadata = group.get("metadata") or {}
    annotations = (metadata.get("annotations") or {}) if isinstance(metadata, Mapping) else {}
    for path, value in (
        ("spec", group.get("spec") or {}),
        ("metadata", metadata),
        ("metadata.annotations", annotations),
    ):
        if not isinstance(value, Mapping):
            yield path, value, "should be a valid dictionary"
    for name, text in annotations.items() if isinstance(annotations, Mapping) else ():
        if not isinstance(text, str):
            yield f"metadata.annotations[{name}]", text, "should be a valid string"


def _timeout(seconds: object) -> Iterator[tuple[str, object, str]]:
    return _integer({"scheduleTimeoutSeconds": seconds}, "scheduleTimeoutSeconds", least=0)


def _integer(spec: Mapping[str, Any], field: str, *, least: int) -> Iterator[tuple[str, object, str]]:
    value = spec.get(field)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        yield field, value, "should be a valid integer"
    elif value < least:
        yield field, value, f"should be greater than or equal to {least}"


def _quantities(spec: Mapping[str, Any], field: str) -> Iterator[tuple[str, object, str]]:
    value = spec.get(field)
    if value is None:
        return
    if not isinstance(value, Mapping):
        yield field, value, "should be a valid dictionary"
        return
    for resource, amount in value.items():
        if isinstance(amount, bool) or not isinstance(amount, int | str):
            yield f"{field}[{resource}]", amount, "should be an integer or a string"
            continue
        try:
            nanos(amount)
        except QuantityError as error:
            yield f"{field}[{resource}]", amount, str(error)
