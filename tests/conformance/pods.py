"""The writes of a kubelet about a pod and a node, and the time that a pod takes to end, where no container runs.

`tests.conformance.kubelet` writes it. Everything here is a pure function of an object in the API's JSON. A status is a
strategic merge patch, so conditions of others, such as the scheduler's, stay.
"""

from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]
FINAL = ("Succeeded", "Failed")
"""Phases that a pod stays in."""
_STARTED = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
_NO_MORE_READY = ("ContainersReady", "Ready")


def running(pod: Object, *, host: str, address: str, now: str) -> dict[str, Any]:
    """The status of a pod whose containers have all started on a host, and whose probes succeed.

    A pod that came with its node, as static pods do, is told to be scheduled by its kubelet.
    """
    known = {condition["type"] for condition in pod["status"].get("conditions", ())}
    kinds = _STARTED if "PodScheduled" in known else ("PodScheduled", *_STARTED)
    return {
        "phase": "Running",
        "conditions": [_condition(kind, "True", now) for kind in kinds],
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": now,
        "containerStatuses": [_container(each, {"running": {"startedAt": now}}) for each in pod["spec"]["containers"]],
    }


def ended(pod: Object, *, now: str) -> dict[str, Any]:
    """The status of a pod whose containers have all ended well."""
    state = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": now}}
    return {
        "phase": "Succeeded",
        "conditions": [{**_condition(kind, "False", now), "reason": "PodCompleted"} for kind in _NO_MORE_READY],
        "containerStatuses": [_container(each, state) for each in pod["spec"]["containers"]],
    }


def seconds_to_end(pod: Object) -> int:
    """How long the containers of a pod that is being deleted still run.

    They end as soon as they are told to, which is when the longest preStop hook is over. What sleeps for longer than
    the grace period is ended with it.
    """
    hooks = [container.get("lifecycle", {}).get("preStop", {}) for container in pod["spec"]["containers"]]
    longest: int = max(hook.get("sleep", {}).get("seconds", 0) for hook in hooks)
    return min(longest, grace(pod))


def grace(pod: Object) -> int:
    """The grace period, in seconds, of a pod that is being deleted."""
    seconds: int = pod["metadata"].get("deletionGracePeriodSeconds", 0)
    return seconds


def overdue(node: Object) -> dict[str, str | None]:
    """What of a node's allocatable resources differs from its capacity, as a merge patch of the former.

    A kubelet that reserves nothing for itself offers its whole capacity, also that of a resource which others wrote
    into the node's status, and no longer what they took out of it.
    """
    capacity, allocatable = (node["status"].get(name, {}) for name in ("capacity", "allocatable"))
    more = {name: amount for name, amount in capacity.items() if allocatable.get(name) != amount}
    return {**more, **dict.fromkeys(allocatable.keys() - capacity.keys())}


def _condition(kind: str, status: str, now: str) -> dict[str, Any]:
    return {"type": kind, "status": status, "lastTransitionTime": now}


def _container(container: Object, state: Object) -> dict[str, Any]:
    runs = "running" in state
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": runs,
        "started": runs,
        "restartCount": 0,
        "state": state,
    }
