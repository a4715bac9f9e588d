"""The columns of events, the same for both API versions."""

from muster.operator.sandbox.objects import Object, get_in
from muster.operator.sandbox.tables.columns import NAME, Column, field, wide
from muster.operator.sandbox.timestamps import age


def _first_seen(event: Object, now: float) -> str:
    return age(event.get("firstTimestamp") or event.get("eventTime"), now)


def _last_seen(event: Object, now: float) -> str:
    if event.get("series"):
        return age(event["series"].get("lastObservedTime"), now)
    return age(event["lastTimestamp"], now) if event.get("lastTimestamp") else _first_seen(event, now)


def _object(event: Object, now: float) -> str:
    involved = event.get("involvedObject") or {}
    kind = (involved.get("kind") or "").lower()
    return f"{kind}/{involved['name']}" if involved.get("name") else kind


def _source(event: Object, now: float) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    instance = source.get("host") or event.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


def _count(event: Object, now: float) -> int:
    return get_in(event, ("series", "count")) or event.get("count") or 1


def _message(event: Object, now: float) -> str:
    return (event.get("message") or "").strip()


COLUMNS = (
    Column("Last Seen", _last_seen),
    Column("Type", field("type")),
    Column("Reason", field("reason")),
    Column("Object", _object),
    wide("Subobject", field("involvedObject.fieldPath")),
    wide("Source", _source),
    Column("Message", _message),
    wide("First Seen", _first_seen),
    wide("Count", _count),
    wide("Name", NAME.cell),
)
