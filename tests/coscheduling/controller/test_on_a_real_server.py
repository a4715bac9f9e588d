"""PodGroups on a real API server: what kubectl shows of them, and how their statuses follow their pods."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from muster.framework.groups import GROUP_LABELS
from muster.plugins.coscheduling.record import PodGroupReason
from tests.builders import PodDict, make_pod
from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import ControlPlane
from tests.deployed import define_pod_groups
from tests.namespaces import create_namespace, remove_namespace

from .conftest import GROUPS, Running, eventually

Create = Callable[..., None]


def of_group(name: str, group: str, *, label: str = GROUP_LABELS[0]) -> PodDict:
    return make_pod(name).labels({label: group})


class Cluster:
    """One namespace of the API server."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self.namespace = namespace

    def status(self, group: str) -> dict[str, Any]:
        found: dict[str, Any] = self._api.get(f"{GROUPS}/namespaces/{self.namespace}/podgroups/{group}")
        status: dict[str, Any] = found.get("status", {})
        return status

    def shows(self, group: str, **fields: object) -> Callable[[], bool]:
        """Whether the group's status has these fields."""
        return lambda: fields.items() <= self.status(group).items()

    def condition(self, group: str) -> tuple[str, str, str] | None:
        found = self.status(group).get("conditions")
        return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else None

    def create(self, pod: Mapping[str, Any]) -> None:
        metadata = pod["metadata"] | {"namespace": self.namespace}
        self._api.post(f"/api/v1/namespaces/{self.namespace}/pods", {**pod, "metadata": metadata})

    def bind(self, *pods: str, node: str = "n1") -> None:
        for pod in pods:
            target = {"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}}
            self._api.post(f"/api/v1/namespaces/{self.namespace}/pods/{pod}/binding", target)

    def phase(self, phase: str, *pods: str) -> None:
        for pod in pods:
            path = f"/api/v1/namespaces/{self.namespace}/pods/{pod}/status"
            self._api.patch(path, {"status": {"phase": phase}})

    def delete(self, *pods: str, **options: object) -> None:
        for pod in pods:
            self._api.delete(f"/api/v1/namespaces/{self.namespace}/pods/{pod}", **options)

    def events(self, group: str) -> list[tuple[str, str, str]]:
        """Type, reason and note of each event on the PodGroup, the oldest first."""
        found = self._api.get(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")["items"]
        about = [event for event in found if event["regarding"]["name"] == group]
        about.sort(key=lambda event: event["eventTime"])
        return [(event["type"], event["reason"], event["note"]) for event in about]


@pytest.fixture
def cluster(api: Api, namespace: str) -> Cluster:
    return Cluster(api, namespace)


@pytest.fixture
def definition(control_plane: ControlPlane) -> None:
    define_pod_groups(control_plane)


@pytest.mark.usefixtures("definition")
@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"minMember": 1},
        {"minResources": {"cpu": 3, "memory": "1.5Gi", "nvidia.com/gpu": "8"}},
        {"scheduleTimeoutSeconds": 0},
    ],
)
def test_the_server_accepts_what_it_accepts_for_scheduler_plugins(
    cluster: Cluster, create_group: Create, spec: dict[str, Any]
) -> None:
    create_group("train", **spec)


@pytest.mark.usefixtures("definition")
@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"minMember": 0}, "spec.minMember"),
        ({"minMember": "3"}, "spec.minMember"),
        ({"minResources": {"cpu": "much"}}, "spec.minResources"),
        ({"minResources": {"cpu": 1.5}}, "spec.minResources"),
        ({"scheduleTimeoutSeconds": -5}, "spec.scheduleTimeoutSeconds"),
    ],
)
def test_the_server_refuses_what_no_group_can_mean(create_group: Create, spec: dict[str, Any], path: str) -> None:
    with pytest.raises(ApiError, match=path):
        create_group("train", **spec)


async def test_kubectl_shows_a_groups_state(
    running: Running, control_plane: ControlPlane, cluster: Cluster, create_group: Create
) -> None:
    create_group("train", minMember=3)
    cluster.create(of_group("a", "train"))
    await eventually(lambda: cluster.condition("train") == ("False", "WaitingForPods", "1 of 3 pods exists"))
    narrow = control_plane.kubectl("get", "pg", "-n", cluster.namespace).splitlines()
    assert narrow[0].split() == ["NAME", "PHASE", "MINMEMBER", "SCHEDULED", "RUNNING", "SUCCEEDED", "FAILED", "AGE"]
    assert narrow[1].split()[:-1] == ["train", "Pending", "3", "0", "0", "0", "0"]
    wide = control_plane.kubectl("get", "pgs", "-o", "wide", "-n", cluster.namespace).splitlines()
    assert wide[0].split()[-3:] == ["AGE", "REASON", "MESSAGE"]
    assert wide[1].endswith("WaitingForPods   1 of 3 pods exists")


async def test_a_status_follows_the_pods_through_a_life(
    running: Running, cluster: Cluster, create_group: Create
) -> None:
    create_group("train", minMember=3)
    for name in "abc":
        cluster.create(of_group(name, "train"))
    await eventually(cluster.shows("train", phase="Scheduling", scheduled=0, running=0))
    assert "scheduleStartTime" in cluster.status("train")
    cluster.bind("a", "b", "c")
    await eventually(cluster.shows("train", phase="Scheduling", scheduled=3))
    assert cluster.condition("train") == ("True", "Scheduled", "the 3 pods that it needs are scheduled")
    cluster.phase("Running", "a", "b", "c")
    await eventually(cluster.shows("train", phase="Running", scheduled=3, running=3))
    cluster.phase("Succeeded", "a")
    await eventually(cluster.shows("train", phase="Running", running=2, succeeded=1))
    cluster.phase("Failed", "b")
    await eventually(cluster.shows("train", phase="Failed", running=1, succeeded=1, failed=1, scheduled=2))
    cluster.create(of_group("b2", "train"))
    await eventually(cluster.shows("train", phase="Scheduling"))
    cluster.bind("b2")
    cluster.phase("Succeeded", "b2", "c")
    await eventually(cluster.shows("train", phase="Finished", running=0, succeeded=3, failed=1))
    cluster.delete("a", "b", "b2", "c", gracePeriodSeconds=0)
    await eventually(cluster.shows("train", phase="Finished", succeeded=0, failed=0))
    cluster.create(of_group("a", "train"))
    await eventually(cluster.shows("train", phase="Pending", scheduled=0))


async def test_same_names_in_two_namespaces_do_not_mix(
    running: Running, api: Api, cluster: Cluster, create_group: Create
) -> None:
    other = Cluster(api, create_namespace(api))
    create_group("train", minMember=1)
    body = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "train"}}
    api.post(f"{GROUPS}/namespaces/{other.namespace}/podgroups", body | {"spec": {"minMember": 2}})
    cluster.create(of_group("a", "train"))
    other.create(of_group("a", "train"))
    cluster.bind("a")
    cluster.phase("Running", "a")
    await eventually(cluster.shows("train", phase="Running", running=1))
    await eventually(lambda: other.condition("train") == ("False", "WaitingForPods", "1 of 2 pods exists"))
    assert other.status("train")["running"] == 0
    remove_namespace(api, other.namespace)


@pytest.mark.parametrize("label", GROUP_LABELS)
async def test_pods_join_by_any_of_the_labels(
    running: Running, cluster: Cluster, create_group: Create, label: str
) -> None:
    create_group("train", minMember=1)
    cluster.create(of_group("a", "train", label=label))
    await eventually(cluster.shows("train", phase="Scheduling"))


async def test_a_pod_may_leave_its_group(running: Running, api: Api, cluster: Cluster, create_group: Create) -> None:
    create_group("train", minMember=1)
    cluster.create(of_group("a", "train"))
    await eventually(cluster.shows("train", phase="Scheduling"))
    api.patch(f"/api/v1/namespaces/{cluster.namespace}/pods/a", {"metadata": {"labels": {GROUP_LABELS[0]: None}}})
    await eventually(cluster.shows("train", phase="Pending"))


async def test_owners_are_named_by_namespace_and_name(running: Running, cluster: Cluster, create_group: Create) -> None:
    create_group("train", minMember=1)
    pod = of_group("a", "train")
    owners = [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name} for name in ("two", "one")]
    pod["metadata"]["ownerReferences"] = owners
    cluster.create(pod)
    both = ",".join(f"{cluster.namespace}/{name}" for name in ("one", "two"))
    await eventually(cluster.shows("train", occupiedBy=both))


async def test_the_schedulers_announcement_is_shown_with_the_group_and_recorded_as_an_event(
    running: Running, control_plane: ControlPlane, cluster: Cluster, create_group: Create
) -> None:
    create_group("train", minMember=2, scheduleTimeoutSeconds=3600)
    for name in "ab":
        cluster.create(of_group(name, "train"))
    await eventually(cluster.shows("train", phase="Scheduling"))
    key = f"{cluster.namespace}/train"
    running.groups.announce(key, PodGroupReason.NOT_ENOUGH_RESOURCES, "resource gap: cpu: 2")
    await eventually(lambda: cluster.condition("train") == ("False", "NotEnoughResources", "resource gap: cpu: 2"))
    running.groups.announce(key, PodGroupReason.SCHEDULED, "the 2 pods that it needs are scheduled")
    cluster.bind("a", "b")
    reported = [
        ("Warning", "TimeoutTooLong", "spec.scheduleTimeoutSeconds of 3600 is cut to 900 (15m)"),
        ("Warning", "Unschedulable", "NotEnoughResources: resource gap: cpu: 2"),
        ("Normal", "Scheduled", "the 2 pods that it needs are scheduled"),
    ]
    await eventually(lambda: cluster.events("train") == reported)
    described = control_plane.kubectl("describe", "pg", "train", "-n", cluster.namespace)
    assert "NotEnoughResources: resource gap: cpu: 2" in described
    assert "the 2 pods that it needs are scheduled" in described


async def test_nothing_but_its_status_is_written_to_a_group(
    running: Running, api: Api, cluster: Cluster, create_group: Create
) -> None:
    create_group("train", minMember=1)
    await eventually(cluster.shows("train", phase="Pending"))
    metadata = api.get(f"{GROUPS}/namespaces/{cluster.namespace}/podgroups/train")["metadata"]
    assert metadata.keys() & {"annotations", "finalizers", "labels"} == set()
    assert metadata["generation"] == 1


async def test_other_controllers_conditions_are_kept(
    running: Running, api: Api, cluster: Cluster, create_group: Create
) -> None:
    create_group("train", minMember=1)
    await eventually(cluster.shows("train", phase="Pending"))
    theirs = {"type": "Admitted", "status": "True", "reason": "Quota", "message": "by the queue"}
    path = f"{GROUPS}/namespaces/{cluster.namespace}/podgroups/train/status"
    api.patch(path, {"status": {"conditions": [*cluster.status("train")["conditions"], theirs]}})
    cluster.create(of_group("a", "train"))
    cluster.bind("a")
    await eventually(lambda: cluster.condition("train") == ("True", "Scheduled", "the pod that it needs is scheduled"))
    assert theirs in cluster.status("train")["conditions"]
