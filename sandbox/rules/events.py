"""Events: one stored object under two API versions, and two strictnesses.

Objects are stored as core/v1 has them. `to_stored` and `to_view` translate the field names of events.k8s.io/v1.
"""

from collections.abc import Iterator

from muster.sandbox.errors import INVALID, REQUIRED, InvalidField
from muster.sandbox.objects import Object, get_in, namespace_of, with_defaults
from muster.sandbox.rules import syntax

_VIEW_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_STORED_NAMES = {view: stored for stored, view in _VIEW_NAMES.items()}
_LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_FIXED = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type"),
    *("eventTime", "action", "related", "reportingComponent", "reportingInstance"),
)
_TIMES = ("firstTimestamp", "lastTimestamp", "eventTime")
_UNSET_IN_VIEW = ("firstTimestamp", "lastTimestamp", "count", "source")


def to_stored(event: Object) -> Object:
    """An events.k8s.io/v1 event as core/v1 has it."""
    known = {key: value for key, value in event.items() if key not in _VIEW_NAMES}
    return {_STORED_NAMES.get(key, key): value for key, value in known.items()} | {"apiVersion": "v1"}


def to_view(event: Object) -> Object:
    """A core/v1 event as events.k8s.io/v1 has it."""
    typed = {"apiVersion": "events.k8s.io/v1", "kind": "Event"}
    shown = {_VIEW_NAMES.get(key, key): value for key, value in event.items() if value != ""}
    return typed | shown | typed


def complete(event: Object) -> Object:
    """A stored event with the fields that are there even if they are empty, or null."""
    event = with_defaults(event, {"source": {}, "reportingComponent": "", "reportingInstance": ""})
    return dict.fromkeys(_TIMES) | event


def validate(event: Object, *, reporter: str = "reportingComponent") -> Iterator[InvalidField]:
    """The problems with any event; `reporter` is the name that the writer's API version has for that field."""
    involved = get_in(event, ("involvedObject", "namespace")) or ""
    namespace = namespace_of(event)
    if not event.get("eventTime"):
        if involved != namespace and (involved or namespace != "default"):
            yield _foreign(involved)
        return
    if not involved and namespace not in ("default", "kube-system"):
        yield _foreign(involved)
    if not event.get("reportingComponent"):
        yield InvalidField(REQUIRED, reporter)
    for reason in syntax.qualified_name(event.get("reportingComponent") or ""):
        yield InvalidField(INVALID, reporter, reason, value=event.get("reportingComponent") or "")
    for field in ("reportingInstance", "action", "reason"):
        if not event.get(field):
            yield InvalidField(REQUIRED, field)
    for field, limit in _LIMITS.items():
        if len((event.get(field) or "").encode()) > limit:
            yield InvalidField(INVALID, field, f"can have at most {limit} characters", value="")


def validate_view(event: Object) -> Iterator[InvalidField]:
    """The problems with an event that is written through events.k8s.io/v1."""
    return validate(event, reporter="reportingController")


def validate_create_view(event: Object) -> Iterator[InvalidField]:
    """The further problems with an event that is created through events.k8s.io/v1."""
    series = event.get("series")
    if series is not None and (series.get("count") or 0) < 2:
        yield InvalidField(INVALID, "series.count", "should be at least 2", value="")
    if not event.get("eventTime"):
        yield InvalidField(REQUIRED, "eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        yield InvalidField(INVALID, "type", f"has invalid value: {event.get('type') or ''}", value="")
    for field in _UNSET_IN_VIEW:
        if event.get(field):
            yield InvalidField(INVALID, field, "needs to be unset", value="")


def validate_update_view(new: Object, old: Object) -> Iterator[InvalidField]:
    """Through events.k8s.io/v1 only the series of an event can change."""
    for field in _FIXED:
        if new.get(field) != old.get(field):
            yield InvalidField(INVALID, field, "field is immutable", value=new.get(field))


def _foreign(namespace: str) -> InvalidField:
    return InvalidField(INVALID, "involvedObject.namespace", "does not match event.namespace", value=namespace)
