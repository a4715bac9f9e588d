"""The PodGroup API, `podgroups.scheduling.x-k8s.io/v1alpha1`: its fields and their rules.

The custom resource definition is rendered from these models, admission validates with them, and the controller reads
and writes statuses as them. What the schema lets pass is what scheduler-plugins' own lets pass; what no group can mean
(a negative timeout, a quantity that is none) is a rule for admission alone. `api` has the same spec as the scheduler
decodes it, thousands of times a second.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StrictInt,
    StrictStr,
    ValidationError,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict
from pydantic_core import ErrorDetails, PydanticCustomError

from muster.framework.model.quantity import QuantityError, nanos

GROUP = "scheduling.x-k8s.io"
VERSION = "v1alpha1"
PLURAL = "podgroups"
KIND = "PodGroup"
SHORT_NAMES = ("pg", "pgs")

SCHEDULED = "Scheduled"
"""The type of the condition that says whether the quorum has nodes."""

_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_INT32 = {"type": "integer", "format": "int32"}
_INT64 = {"type": "integer", "format": "int64"}
_TIME = {"type": "string", "format": "date-time"}
_AMOUNT = {"anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": _QUANTITY, "x-kubernetes-int-or-string": True}
_ONE_OF_EACH_TYPE: JsonDict = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}


class Phase(StrEnum):
    """Where a group is in its life, in scheduler-plugins' words."""

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


def _whole_number(low: int) -> AfterValidator:
    def check(value: int) -> int:
        if value < low:
            raise PydanticCustomError("too_small", "should be greater than or equal to {low}", {"low": low})
        return value

    return AfterValidator(check)


def _quantity(value: object) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("no_quantity", "should be an integer or a string")
    try:
        nanos(value)
    except QuantityError as error:
        raise PydanticCustomError("no_quantity", "{reason}", {"reason": str(error)}) from None
    return value


MinMember = Annotated[StrictInt, _whole_number(1), WithJsonSchema(_INT32 | {"minimum": 1})]
Timeout = Annotated[StrictInt, _whole_number(0), WithJsonSchema(_INT32)]
Amount = Annotated[int | str, PlainValidator(_quantity), WithJsonSchema(_AMOUNT)]
Count = Annotated[StrictInt, WithJsonSchema(_INT32)]
Generation = Annotated[StrictInt, WithJsonSchema(_INT64)]
Time = Annotated[StrictStr, WithJsonSchema(_TIME)]


class _Model(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, frozen=True, use_attribute_docstrings=True
    )


class PodGroupSpec(_Model):
    """What the group asks for."""

    min_member: MinMember | None = None
    """How many pods the group needs: they start together or not at all."""
    min_resources: dict[str, Amount] | None = None
    """What must be free for the group as a whole before any of its pods is started."""
    schedule_timeout_seconds: Timeout | None = None
    """How long pods that hold nodes wait for the others, at most 900. Absent or 0 leaves it to the scheduler."""


class Condition(_Model):
    """One statement on the group, with the reason for it."""

    type: StrictStr
    """What the statement is about. `Scheduled`: as many pods as the group needs have nodes."""
    status: StrictStr
    """`True` or `False`."""
    reason: StrictStr | None = None
    """Why, as one word for programs."""
    message: StrictStr | None = None
    """Why, as a sentence for people."""
    last_transition_time: Time | None = None
    """When `status` last changed."""
    observed_generation: Generation | None = None
    """The generation of the spec that the statement is about."""


class PodGroupStatus(_Model):
    """What became of the group, as last seen by the scheduler."""

    phase: StrictStr | None = None
    """Pending, Scheduling, Unknown, Running, Finished or Failed."""
    occupied_by: StrictStr | None = None
    """The owners of the group's pods, as namespace/name, separated by commas."""
    scheduled: Count | None = None
    """How many pods have a node, those that failed not counted."""
    running: Count | None = None
    """How many pods run."""
    succeeded: Count | None = None
    """How many pods have succeeded."""
    failed: Count | None = None
    """How many pods have failed."""
    schedule_start_time: Time | None = None
    """When enough pods existed for the group to be scheduled."""
    conditions: tuple[Condition, ...] | None = Field(default=None, json_schema_extra=_ONE_OF_EACH_TYPE)
    """Statements on the group, one of each type."""
    observed_generation: Generation | None = None
    """The generation of the spec that this status is about."""

    def condition(self, kind: str) -> Condition | None:
        """The condition of this type."""
        return next((condition for condition in self.conditions or () if condition.type == kind), None)


class PodGroup(_Model):
    """A group of pods that start together or not at all."""

    spec: PodGroupSpec | None = None
    status: PodGroupStatus | None = None


def problems(group: Mapping[str, Any]) -> list[str]:
    """What is wrong with the spec of a PodGroup in its JSON form: a line for each field, in the API server's style."""
    try:
        PodGroup.model_validate({"spec": group.get("spec")})
    except ValidationError as error:
        return [_line(details) for details in error.errors(include_url=False, include_context=False)]
    return []


def _line(details: ErrorDetails) -> str:
    section, *names = map(str, details["loc"])
    path = ".".join([section, *names[:1]]) + "".join(f"[{key}]" for key in names[1:])
    return f"{path}: Invalid value: {json.dumps(details['input'])}: {details['msg'].removeprefix('Input ')}"
