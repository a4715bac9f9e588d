"""One side's world: an API server with one scheduler on it, and what that scheduler says about a pod.

Each side has a control plane of its own, so neither sees what the other writes, and both worlds hold the same objects
under the same names. Nothing but the scheduler runs there: no kubelet, no controller. What a controller would do is
part of the objects that are created.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import SCHEDULER, ControlPlane
from tests.deployed import define_pod_groups, log_in_as_deployed
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import Options, running

Object = dict[str, Any]

NAMESPACES = {"alpha": "a", "beta": "b", "gamma": "a"}
"""The namespaces of every world, each with its label `team`."""
PRIORITIES = {"low": -10, "middle": 100, "high": 1000, "highest": 5000, "polite": 2000}
"""The priority classes of every world; pods of the last never preempt."""

_CORE, _STORAGE, _DEVICES = "/api/v1", "/apis/storage.k8s.io/v1", "/apis/resource.k8s.io/v1"
_LISTS = {
    "Node": f"{_CORE}/nodes",
    "Pod": f"{_CORE}/namespaces/{{}}/pods",
    "Service": f"{_CORE}/namespaces/{{}}/services",
    "PersistentVolume": f"{_CORE}/persistentvolumes",
    "PersistentVolumeClaim": f"{_CORE}/namespaces/{{}}/persistentvolumeclaims",
    "StorageClass": f"{_STORAGE}/storageclasses",
    "CSINode": f"{_STORAGE}/csinodes",
    "CSIDriver": f"{_STORAGE}/csidrivers",
    "CSIStorageCapacity": f"{_STORAGE}/namespaces/{{}}/csistoragecapacities",
    "DeviceClass": f"{_DEVICES}/deviceclasses",
    "ResourceSlice": f"{_DEVICES}/resourceslices",
    "ResourceClaim": f"{_DEVICES}/namespaces/{{}}/resourceclaims",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
}
_SET_BY_SERVER = ("uid", "resourceVersion", "creationTimestamp")
_LIMITS = {"qps": 1000, "burst": 1000}
_NO_CONTROLLERS = "--disable-admission-plugins=StorageObjectInUseProtection"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a scheduler has said about a pod.

    Attributes:
        node: the node that it chose; empty while there is none.
        reason: of the condition PodScheduled, where it is false.
        message: of that condition.
        note: of the event FailedScheduling.
        nominated: the node that it has made room on.
        victims: the pods that go, by namespace and name, with what their condition says of why.
    """

    node: str = ""
    reason: str = ""
    message: str = ""
    note: str = ""
    nominated: str = ""
    victims: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What it comes to, in a word."""
        if self.node or self.nominated:
            return "placed" if self.node else "made room"
        return "gated" if self.reason == "SchedulingGated" else "refused"


@dataclass
class World:
    """One side: its API, and where its scheduler writes its log."""

    api: Api
    log: Path
    _created: list[str] = field(default_factory=list)
    _read: int = 0

    def create(self, *objects: Mapping[str, Any]) -> None:
        """Creates objects, with the status that they have."""
        for each in objects:
            metadata = {key: value for key, value in each["metadata"].items() if key not in _SET_BY_SERVER}
            at = path(each)
            self._created.append(at)
            self.api.post(at.rpartition("/")[0], {**each, "metadata": metadata})
            if each.get("status") and each["kind"] != "Node":
                self.api.patch(f"{at}/status", {"status": each["status"]})

    def read(self, of: Mapping[str, Any]) -> Any:
        """The object as the API has it now."""
        return self.api.get(path(of))

    def outcome(self, pod: Mapping[str, Any]) -> Outcome | None:
        """What is said about the pod; None while that is not all."""
        seen = self.read(pod)
        status = seen.get("status", {})
        if node := seen["spec"].get("nodeName", ""):
            return Outcome(node)
        conditions = (each for each in status.get("conditions", ()) if each["type"] == "PodScheduled")
        condition = next(conditions, {"reason": ""})
        nominated = status.get("nominatedNodeName", "")
        if condition["reason"] == "":
            return Outcome(nominated) if nominated and mounts_claims(pod) else None
        note = "" if condition["reason"] == "SchedulingGated" else self._note(pod)
        if note is None:
            return None
        victims = self._victims() if nominated else ()
        return Outcome("", condition["reason"], condition.get("message", ""), note, nominated, victims)

    def forget(self, pod: Mapping[str, Any]) -> None:
        """Removes the pod at once, with the claims that were made for it or that it allocated."""
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        with suppress(ApiError):
            self.api.delete(path(pod), gracePeriodSeconds=0)
        if "resourceClaims" not in pod["spec"] and not pod["metadata"].get("annotations"):
            return
        claims = _LISTS["ResourceClaim"].format(namespace)
        for claim in self.api.get(claims)["items"]:
            owners = {owner["name"] for owner in claim["metadata"].get("ownerReferences", ())}
            users = {user["name"] for user in claim.get("status", {}).get("reservedFor", ())}
            if name in owners | users:
                self._remove(f"{claims}/{claim['metadata']['name']}")

    def clear(self) -> None:
        """Removes everything that was created."""
        for namespace in NAMESPACES:
            for kind in ("Pod", "ResourceClaim"):
                self._remove_all(_LISTS[kind].format(namespace))
            self.api.delete(f"{_CORE}/namespaces/{namespace}/events")
        for at in reversed(self._created):
            if "/pods/" not in at:
                self._remove(at)
        self._created.clear()

    def new_log_lines(self) -> Iterator[str]:
        """The lines that the scheduler has written since the last call."""
        with self.log.open(errors="replace") as log:
            log.seek(self._read)
            yield from log
            self._read = log.tell()

    def _note(self, pod: Mapping[str, Any]) -> str | None:
        """The last note of FailedScheduling about the pod; None while there is none."""
        name = pod["metadata"]["name"]
        events = f"{_CORE}/namespaces/{pod['metadata']['namespace']}/events"
        about = self.api.get(events, fieldSelector=f"involvedObject.name={name},reason=FailedScheduling")["items"]
        return max(about, key=lambda event: int(event["metadata"]["resourceVersion"]))["message"] if about else None

    def _victims(self) -> tuple[str, ...]:
        """Pods that are being deleted."""
        going = [each for each in self.api.get(f"{_CORE}/pods")["items"] if "deletionTimestamp" in each["metadata"]]
        return tuple(
            sorted(f"{each['metadata']['namespace']}/{each['metadata']['name']} {_why(each)}" for each in going)
        )

    def _remove_all(self, at: str) -> None:
        for each in self.api.delete(at, gracePeriodSeconds=0).get("items", ()):
            if each["metadata"].get("finalizers"):
                self._remove(f"{at}/{each['metadata']['name']}")

    def _remove(self, at: str) -> None:
        with suppress(ApiError):
            left = self.api.delete(at, gracePeriodSeconds=0)
            if left.get("metadata", {}).get("finalizers"):
                self.api.patch(at, {"metadata": {"finalizers": None}})


def path(of: Mapping[str, Any]) -> str:
    """Where the API has an object."""
    return f"{_LISTS[of['kind']].format(of['metadata'].get('namespace', ''))}/{of['metadata']['name']}"


def _why(pod: Mapping[str, Any]) -> list[str]:
    """What the pod's condition says of why it goes."""
    conditions = pod.get("status", {}).get("conditions", ())
    return [each.get("message", "") for each in conditions if each["type"] == "DisruptionTarget"]


def mounts_claims(pod: Mapping[str, Any]) -> bool:
    """Whether the pod waits, once it has a node, for volumes that nobody provides here."""
    return any("persistentVolumeClaim" in volume for volume in pod["spec"].get("volumes", ()))


@contextmanager
def kube_scheduler(folder: Path, profiles: Sequence[Object]) -> Iterator[World]:
    """A world with kube-scheduler, which logs the final score of each node."""
    with _plane(folder) as (plane, api):
        connection = {"kubeconfig": str(plane.kubeconfig(SCHEDULER)), **_LIMITS}
        config = {"clientConnection": connection, "profiles": list(profiles)}
        plane.start_scheduler(config, "--vmodule=schedule_one=10")
        yield World(api, plane.files.log("kube-scheduler"))


@contextmanager
def muster(folder: Path, profiles: Sequence[Object]) -> Iterator[World]:
    """A world with Muster, which has the rights that it is deployed with."""
    with _plane(folder) as (plane, api):
        define_pod_groups(plane)
        kubeconfig, log, config = log_in_as_deployed(plane), folder / "muster.log", folder / "muster.yaml"
        config.write_text(
            json.dumps(
                {
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "KubeSchedulerConfiguration",
                    "leaderElection": {"leaderElect": False},
                    "profiles": list(profiles),
                }
            )
        )
        with running(Options(kubeconfig=kubeconfig, log=log, config=config)):
            yield World(api, log)


@contextmanager
def _plane(folder: Path) -> Iterator[tuple[ControlPlane, Api]]:
    with ControlPlane(folder, api_server_arguments=[_NO_CONTROLLERS]) as plane, plane.api() as api:
        for name, team in NAMESPACES.items():
            api.post(f"{_CORE}/namespaces", {"metadata": {"name": name, "labels": {"team": team}}})
        for name, value in PRIORITIES.items():
            policy = "Never" if name == "polite" else "PreemptLowerPriority"
            body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
            api.post("/apis/scheduling.k8s.io/v1/priorityclasses", body)
        yield plane, api


def settled(probe: Callable[[], bool], *, within: float) -> bool:
    """Whether `probe` comes to hold in time."""
    with suppress(AssertionError):
        return eventually(probe, within=within)
    return False


def now() -> float:
    """Seconds, for rates that are printed."""
    return time.monotonic()
