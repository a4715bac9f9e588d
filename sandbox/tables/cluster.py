"""The columns of nodes, events and the other kinds that make up a cluster or configure it."""

from muster.framework.model.times import age
from muster.sandbox.objects import Object, get_in, metadata
from muster.sandbox.tables.columns import AGE, NAME, NONE, Cell, Column, count, field, wide

_ROLE_PREFIX = "node-role.kubernetes.io/"
_UNKNOWN = "<unknown>"


def _node_status(node: Object, now: float) -> str:
    conditions = get_in(node, ("status", "conditions")) or ()
    words = ["Ready" if item["status"] == "True" else "NotReady" for item in conditions if item["type"] == "Ready"]
    words = words or ["Unknown"]
    if node["spec"].get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(node: Object, now: float) -> str:
    labels = metadata(node).get("labels") or {}
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return ",".join(sorted(roles - {""})) or NONE


def _address(kind: str) -> Cell:
    def cell(node: Object, now: float) -> str:
        addresses = get_in(node, ("status", "addresses")) or ()
        return next((item["address"] for item in addresses if item["type"] == kind), NONE)

    return cell


def _info(name: str) -> Cell:
    return lambda node, now: get_in(node, ("status", "nodeInfo", name)) or _UNKNOWN


def _kernel(node: Object, now: float) -> str:
    info = get_in(node, ("status", "nodeInfo")) or {}
    kernel = info.get("kernelVersion") or _UNKNOWN
    return f"{kernel} ({info['architecture']})" if info.get("architecture") else kernel


NODES = (
    NAME,
    Column("Status", _node_status),
    Column("Roles", _roles),
    AGE,
    Column("Version", field("status.nodeInfo.kubeletVersion")),
    wide("Internal-IP", _address("InternalIP")),
    wide("External-IP", _address("ExternalIP")),
    wide("OS-Image", _info("osImage")),
    wide("Kernel-Version", _kernel),
    wide("Container-Runtime", _info("containerRuntimeVersion")),
)


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


EVENTS = (
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


def _role(bound: Object, now: float) -> str:
    role = bound.get("roleRef") or {}
    return f"{role.get('kind', '')}/{role.get('name', '')}"


def _subjects(kind: str) -> Cell:
    def named(bound: Object, now: float) -> str:
        subjects = [each for each in bound.get("subjects") or () if each.get("kind") == kind]
        return ", ".join("/".join(filter(None, (each.get("namespace"), each.get("name")))) for each in subjects)

    return named


ROLE_BINDINGS = (
    NAME,
    Column("Role", _role),
    AGE,
    wide("Users", _subjects("User")),
    wide("Groups", _subjects("Group")),
    wide("ServiceAccounts", _subjects("ServiceAccount")),
)
NAMESPACES = (NAME, Column("Status", field("status.phase")), AGE)
LEASES = (NAME, Column("Holder", field("spec.holderIdentity")), AGE)
CONFIG_MAPS = (NAME, Column("Data", count("data")), AGE)
PRIORITY_CLASSES = (
    NAME,
    Column("Value", field("value"), "integer"),
    Column("Global-Default", field("globalDefault", absent=False), "boolean"),
    AGE,
    Column("PreemptionPolicy", field("preemptionPolicy")),
)
