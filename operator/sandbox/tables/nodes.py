"""The columns of nodes."""

from muster.operator.sandbox.objects import Object, get_in, metadata
from muster.operator.sandbox.tables.columns import AGE, NAME, NONE, Cell, Column, field, wide

_ROLE_PREFIX = "node-role.kubernetes.io/"
_UNKNOWN = "<unknown>"


def _status(node: Object, now: float) -> str:
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


COLUMNS = (
    NAME,
    Column("Status", _status),
    Column("Roles", _roles),
    AGE,
    Column("Version", field("status.nodeInfo.kubeletVersion")),
    wide("Internal-IP", _address("InternalIP")),
    wide("External-IP", _address("ExternalIP")),
    wide("OS-Image", _info("osImage")),
    wide("Kernel-Version", _kernel),
    wide("Container-Runtime", _info("containerRuntimeVersion")),
)
