"""The names on Kueue's wire, as its documentation has them, and what its manifests ask for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.framework.model.quantity import milli_value, nanos

Object = dict[str, Any]

QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
MANAGED = "kueue.x-k8s.io/managed"
"""A label of the pods that Kueue manages, and the finalizer that it puts on them."""
GROUP = "kueue.x-k8s.io/pod-group-name"
TOTAL_COUNT = "kueue.x-k8s.io/pod-group-total-count"
NATIVE_GROUP = "kueue.x-k8s.io/was-podgroup"
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
ADMISSION_GATE = "kueue.x-k8s.io/admission"
TOPOLOGY_GATE = "kueue.x-k8s.io/topology"
REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
TOPOLOGY_LABEL = "kueue.x-k8s.io/tas"
WORKLOAD = "kueue.x-k8s.io/workload"
PREEMPTED = "WorkloadEvictedDueToPreempted"
PODS_READY_TIMEOUT = "WorkloadEvictedDueToPodsReadyTimeout"


@dataclass(frozen=True, kw_only=True)
class ClusterQueue:
    """The one queue of a played Kueue, with what its configuration says.

    Attributes:
        cpu: the nominal quota, in cores.
        flavor: the nodeLabels of the resource flavor.
        levels: the node labels of the flavor's topology, the widest first; the last is the hostname.
        priorities: the values of WorkloadPriorityClasses, by name.
        ready_within: waitForPodsReady's timeout, in seconds; 0 to wait for ever.
        backoff: how long a workload that was not ready in time is left alone, in seconds.
    """

    cpu: float
    flavor: Mapping[str, str] = field(default_factory=dict)
    levels: tuple[str, ...] = ()
    priorities: Mapping[str, int] = field(default_factory=dict)
    ready_within: float = 0.0
    backoff: float = 60.0


def label(obj: Object, key: str) -> str:
    """The value of a label; "" if there is none."""
    found: str = (obj["metadata"].get("labels") or {}).get(key, "")
    return found


def annotation(obj: Object, key: str) -> str:
    """The value of an annotation; "" if there is none."""
    found: str = (obj["metadata"].get("annotations") or {}).get(key, "")
    return found


def gates(pod: Object) -> list[str]:
    """The names of the pod's scheduling gates."""
    return [gate["name"] for gate in pod["spec"].get("schedulingGates") or ()]


def is_active(pod: Object) -> bool:
    """Whether the pod runs or may still run."""
    if "deletionTimestamp" in pod["metadata"] and not pod["spec"].get("nodeName"):
        return False
    return pod["status"].get("phase") not in ("Succeeded", "Failed")


def is_ready(pod: Object) -> bool:
    """Whether the pod's condition says so."""
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions") or ())


def cores(pods: Iterable[Object]) -> float:
    """The cores that these pods, or templates of pods, request together."""
    requests = (each["resources"].get("requests", {}) for pod in pods for each in pod["spec"]["containers"])
    return sum(number(each.get("cpu", "0")) for each in requests)


def number(quantity: str) -> float:
    """A quantity as a number."""
    return milli_value(nanos(quantity)) / 1000
