"""The columns of pods, above all `STATUS`."""

from collections.abc import Iterator

from muster.framework.model.times import age, parse_time
from muster.sandbox.objects import Object, get_in, metadata
from muster.sandbox.tables.columns import AGE, NAME, NONE, Column, field, wide


def _statuses(pod: Object, which: str = "containerStatuses") -> list[Object]:
    return get_in(pod, ("status", which)) or []


def _is_running(status: Object) -> bool:
    return bool(status.get("ready")) and get_in(status, ("state", "running")) is not None


def _sidecars(pod: Object) -> set[str]:
    """The names of the init containers that keep running."""
    containers = pod["spec"].get("initContainers") or ()
    return {container["name"] for container in containers if container.get("restartPolicy") == "Always"}


def _ready(pod: Object, now: float) -> str:
    sidecars = _sidecars(pod)
    total = len(pod["spec"]["containers"]) + len(sidecars)
    running = [status for status in _statuses(pod) if _is_running(status)]
    running += [
        status
        for status in _statuses(pod, "initContainerStatuses")
        if status["name"] in sidecars and status.get("started") and status.get("ready")
    ]
    return f"{len(running)}/{total}"


def _status(pod: Object, now: float) -> str:
    status = pod.get("status") or {}
    reason = status.get("reason") or status.get("phase") or ""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    initializing = next(_init_reasons(pod), None)
    if initializing is not None:
        reason = initializing
    if initializing is None or _is_true(pod, "Initialized"):
        reason = _container_reason(pod, reason)
    if metadata(pod).get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            return "Unknown"
        if status.get("phase") not in ("Succeeded", "Failed"):
            return "Terminating"
    return reason


def _init_reasons(pod: Object) -> Iterator[str]:
    """Why the pod is still initializing; nothing if it is not."""
    total, sidecars = len(pod["spec"].get("initContainers") or ()), _sidecars(pod)
    for index, status in enumerate(_statuses(pod, "initContainerStatuses")):
        ended, waiting = get_in(status, ("state", "terminated")), get_in(status, ("state", "waiting"))
        if ended and not ended.get("exitCode"):
            continue
        if status["name"] in sidecars and status.get("started"):
            continue
        if ended:
            yield f"Init:{_end_reason(ended)}"
        elif waiting and waiting.get("reason") not in (None, "", "PodInitializing"):
            yield f"Init:{waiting['reason']}"
        else:
            yield f"Init:{index}/{total}"


def _container_reason(pod: Object, reason: str) -> str:
    running, failure = False, ""
    for status in reversed(_statuses(pod)):
        waiting, ended = get_in(status, ("state", "waiting")), get_in(status, ("state", "terminated"))
        if waiting and waiting.get("reason"):
            reason = waiting["reason"]
        elif ended:
            reason = _end_reason(ended)
            failure = reason if ended.get("exitCode") else failure
        elif _is_running(status):
            running = True
    if reason != "Completed":
        return reason
    if running and _is_true(pod, "Ready"):
        return "Running"
    return failure or ("NotReady" if running else reason)


def _end_reason(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _is_true(pod: Object, condition: str) -> bool:
    conditions = get_in(pod, ("status", "conditions")) or ()
    return any(item["type"] == condition and item.get("status") == "True" for item in conditions)


def _restarts(pod: Object, now: float) -> str:
    sidecars = _sidecars(pod)
    counted = _statuses(pod) + [
        status for status in _statuses(pod, "initContainerStatuses") if status["name"] in sidecars
    ]
    total = sum(status.get("restartCount", 0) for status in counted)
    ends = [get_in(status, ("lastState", "terminated", "finishedAt")) for status in counted]
    last = max((end for end in ends if end), key=parse_time, default=None)
    return f"{total} ({age(last, now)} ago)" if total and last else str(total)


def _readiness_gates(pod: Object, now: float) -> str:
    gates = pod["spec"].get("readinessGates")
    if not gates:
        return NONE
    passed = sum(_is_true(pod, gate["conditionType"]) for gate in gates)
    return f"{passed}/{len(gates)}"


def _ip(pod: Object, now: float) -> str:
    addresses = get_in(pod, ("status", "podIPs"))
    return addresses[0]["ip"] if addresses else NONE


COLUMNS = (
    NAME,
    Column("Ready", _ready),
    Column("Status", _status),
    Column("Restarts", _restarts),
    AGE,
    wide("IP", _ip),
    wide("Node", field("spec.nodeName", NONE)),
    wide("Nominated Node", field("status.nominatedNodeName", NONE)),
    wide("Readiness Gates", _readiness_gates),
)
