"""One side's world: an API server with one scheduler on it, and what that scheduler says about a pod.

Each side has a control plane of its own, so neither sees what the other writes, and both worlds hold the same objects
under the same names. Nothing but the scheduler runs there: no kubelet, no controller. What a controller would do is
part of the objects that are created.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import SCHEDULER, ControlPlane
from tests.deployed import define_pod_groups, log_in_as_deployed
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import Options, running
from tests.parity.choices import TRACE, Choice, Recorded, SchedulerLog

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
_UID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_SET_BY_SERVER = ("uid", "resourceVersion", "creationTimestamp")
_LIMITS = {"qps": 1000, "burst": 1000}
_NO_CONTROLLERS = "--disable-admission-plugins=StorageObjectInUseProtection"


class Condition(NamedTuple):
    """A condition of an object, as it stands."""

    type: str
    status: str
    reason: str
    message: str
    generation: int


@dataclass(frozen=True, slots=True)
class Victim:
    """A pod that goes: its conditions, and what the events Preempted say of it, without UIDs."""

    pod: str
    conditions: tuple[Condition, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a scheduler has done with a pod, and said about it.

    Attributes:
        node: the node that it chose; empty while there is none.
        nominated: `status.nominatedNodeName`.
        conditions: all that the pod has.
        note: of the event FailedScheduling.
        victims: the pods that go.
        choice: why it chose this node; None where it was the only one that passed, and for none.
    """

    node: str = ""
    nominated: str = ""
    conditions: tuple[Condition, ...] = ()
    note: str = ""
    victims: tuple[Victim, ...] = ()
    choice: Choice | None = None

    @property
    def reason(self) -> str:
        """Of the condition PodScheduled."""
        return next((each.reason for each in self.conditions if each.type == "PodScheduled"), "")

    @property
    def kind(self) -> str:
        """What it comes to, in a word."""
        if self.node or self.nominated:
            return "placed" if self.node else "made room"
        if not self.conditions:
            return "silent"
        return "gated" if self.reason == "SchedulingGated" else "refused"


@dataclass
class World:
    """One side: its API, and what its scheduler says of how it chose."""

    api: Api
    choices: SchedulerLog | Recorded
    _created: list[str] = field(default_factory=list)

    def create(self, *objects: Mapping[str, Any]) -> None:
        """Creates objects, with the status that they have."""
        for each in objects:
            metadata = {key: value for key, value in each["metadata"].items() if key not in _SET_BY_SERVER}
            at = path(each)
            self._created.append(at)
            self.api.post(at.rpartition("/")[0], {**each, "metadata": metadata})
            if each.get("status") and each["kind"] != "Node":
                self.api.patch(f"{at}/status", {"status": each["status"]})

    def label(self, key: str, objects: Sequence[Mapping[str, Any]]) -> None:
        """Gives the objects a label."""
        for each in objects:
            self.api.patch(path(each), {"metadata": {"labels": {key: "true"}}})

    def read(self, of: Mapping[str, Any]) -> Any:
        """The object as the API has it now."""
        return self.api.get(path(of))

    def outcome(self, pod: Mapping[str, Any]) -> Outcome | None:
        """What is said about the pod; None while that is not all."""
        seen = self.read(pod)
        nominated, conditions = seen.get("status", {}).get("nominatedNodeName", ""), conditions_of(seen)
        if node := seen["spec"].get("nodeName", ""):
            return self._placed(pod, Outcome(node, nominated, conditions))
        if not any(each.type == "PodScheduled" for each in conditions):
            waits = nominated and mounts_claims(pod)
            return self._placed(pod, Outcome(nominated, nominated, conditions)) if waits else None
        note = "" if any(each.reason == "SchedulingGated" for each in conditions) else self._note(pod)
        if note is None:
            return None
        return Outcome("", nominated, conditions, note, self._victims() if nominated else ())

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

    def _placed(self, pod: Mapping[str, Any], outcome: Outcome) -> Outcome | None:
        """With the choice; None while that is not written down."""
        key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        if not self.choices.knows(key, outcome.node):
            return None
        return replace(outcome, choice=self.choices.choice(key, outcome.node))

    def _note(self, pod: Mapping[str, Any]) -> str | None:
        """The last note of FailedScheduling about the pod; None while there is none."""
        name = pod["metadata"]["name"]
        events = f"{_CORE}/namespaces/{pod['metadata']['namespace']}/events"
        about = self.api.get(events, fieldSelector=f"involvedObject.name={name},reason=FailedScheduling")["items"]
        return max(about, key=lambda event: int(event["metadata"]["resourceVersion"]))["message"] if about else None

    def _victims(self) -> tuple[Victim, ...]:
        """Pods that are being deleted."""
        going = [each for each in self.api.get(f"{_CORE}/pods")["items"] if "deletionTimestamp" in each["metadata"]]
        events = self.api.get(f"{_CORE}/events", fieldSelector="reason=Preempted")["items"]
        notes: dict[str, list[str]] = {}
        for event in events:
            about = event["involvedObject"]
            notes.setdefault(about.get("uid", ""), []).append(_UID.sub("UID", event["message"]))
        return tuple(
            sorted(
                (
                    Victim(
                        f"{each['metadata']['namespace']}/{each['metadata']['name']}",
                        conditions_of(each),
                        tuple(sorted(notes.get(each["metadata"]["uid"], ()))),
                    )
                    for each in going
                ),
                key=attrgetter("pod"),
            )
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


def conditions_of(of: Mapping[str, Any]) -> tuple[Condition, ...]:
    """All conditions of an object, by type, without their times."""
    found = (
        Condition(
            each["type"],
            each["status"],
            each.get("reason", ""),
            each.get("message", ""),
            each.get("observedGeneration", 0),
        )
        for each in of.get("status", {}).get("conditions", ())
    )
    return tuple(sorted(found))


def mounts_claims(pod: Mapping[str, Any]) -> bool:
    """Whether the pod waits, once it has a node, for volumes that nobody provides here."""
    return any("persistentVolumeClaim" in volume for volume in pod["spec"].get("volumes", ()))


@contextmanager
def kube_scheduler(folder: Path, profiles: Sequence[Object]) -> Iterator[World]:
    """A world with kube-scheduler, which logs the final score of each node."""
    with _plane(folder) as (plane, api):
        connection = {"kubeconfig": str(plane.kubeconfig(SCHEDULER)), **_LIMITS}
        config = {"clientConnection": connection, "profiles": list(profiles)}
        plane.start_scheduler(config, TRACE)
        yield World(api, SchedulerLog(plane.files.log("kube-scheduler")))


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
        recording = folder / "muster.recording"
        with running(Options(kubeconfig=kubeconfig, log=log, config=config, recording=recording)):
            yield World(api, Recorded(recording))


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
