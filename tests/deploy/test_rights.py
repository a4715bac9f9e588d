"""The installed release at work: with the token of its own ServiceAccount, and no right too few or too many."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import make_node, make_pod
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.deploy.audit import SERVICE_ACCOUNT, Audit, Right, granted
from tests.deploy.helm import NAMESPACE, RELEASE, REPOSITORY, Helm
from tests.deploy.image import Image
from tests.deploy.pod import Replica, mount, service_account_token
from tests.dynamicresources.objects import claiming_pod, device, exactly, make_claim, make_class, make_slice
from tests.e2e.eventually import eventually
from tests.namespaces import create_namespace, remove_namespace
from tests.played_storage import PlayedStorage
from tests.storage import make_claim as make_volume_claim
from tests.storage import make_class as make_storage_class
from tests.storage import make_volume

FIRST_GANG = REPOSITORY / "deploy" / "examples" / "first-gang.yaml"
MEMBERS = [f"first-gang-{number}" for number in range(3)]
READER = {"kind": "ServiceAccount", "name": "prometheus", "namespace": NAMESPACE}
_DEVICES = "resource.k8s.io"
UNSEEN = {
    Right("", "pods/eviction", "create"),
    Right("events.k8s.io", "events", "patch"),
    Right(_DEVICES, "resourceclaims", "create"),
    Right(_DEVICES, "resourceclaims", "delete"),
    Right(_DEVICES, "resourceclaims", "get"),
    Right(_DEVICES, "resourceclaims/binding", "patch"),
    Right("scheduling.k8s.io", "compositepodgroups", "watch"),
    Right("scheduling.k8s.io", "podgroups", "watch"),
    Right("scheduling.k8s.io", "podgroups/status", "patch"),
    Right("scheduling.x-k8s.io", "elasticquotas/status", "patch"),
}
"""Rights that are used when words are repeated half a minute later, when writes collide or are taken back, for extended
resources, within the API server, for groups that are to start anew, for quotas, or where the server has PodGroups of
its own."""
_NO_PREEMPTION = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
_ON_TWO = {"kubernetes.io/hostname": "two"}
_RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def release(admin: Api, cluster_helm: Helm) -> Iterator[str]:
    """The chart, installed as it is, with an account that may read its metrics. The result is its notes."""
    notes = cluster_helm.install({"rbac": {"metricsReaders": [READER]}})
    admin.post(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": READER["name"]}})
    yield notes
    cluster_helm.uninstall()


@pytest.fixture(scope="module")
def replica(
    release: str, image: Image, cluster: ControlPlane, admin: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Replica]:
    """A replica that leads, on two nodes."""
    for name in ("one", "two"):
        admin.post("/api/v1/nodes", make_node(name))
    replica = Replica(image.muster, mount(cluster, admin, tmp_path_factory.mktemp("replica")))
    try:
        replica.wait_until_ready()
        yield replica
    finally:
        code = replica.stop()
    assert code == 0
    for name in ("one", "two"):
        admin.delete(f"/api/v1/nodes/{name}")


@pytest.fixture(scope="module")
def workspace(admin: Api) -> Iterator[str]:
    """A user's namespace."""
    name = create_namespace(admin)
    yield name
    remove_namespace(admin, name)


@pytest.fixture(scope="module")
def gang(replica: Replica, cluster: ControlPlane, admin: Api, workspace: str) -> dict[str, Any]:
    """The example's PodGroup, once its status says that it is scheduled."""
    cluster.kubectl("--namespace", workspace, "apply", "--filename", str(FIRST_GANG))

    def scheduled() -> dict[str, Any] | None:
        path = f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{workspace}/podgroups/first-gang"
        group: dict[str, Any] = admin.get(path)
        return group if group.get("status", {}).get("scheduled") == len(MEMBERS) else None

    group = eventually(scheduled)
    assert group is not None
    return group


@pytest.fixture(scope="module")
def misfit(replica: Replica, admin: Api, workspace: str) -> list[dict[str, Any]]:
    """The events on a pod that fits nowhere, once there are any."""
    admin.post(f"/api/v1/namespaces/{workspace}/pods", _without_uid(make_pod("misfit").requests(cpu="64")))
    return eventually(lambda: _events(admin, workspace, "misfit"))


@pytest.fixture(scope="module")
def device_user(replica: Replica, admin: Api, workspace: str) -> Iterator[str]:
    """A pod with a device, once it is bound."""
    api = "/apis/resource.k8s.io/v1"
    admin.post(f"{api}/deviceclasses", make_class("gpu", "device.driver == 'gpu.example.com'"))
    admin.post(f"{api}/resourceslices", make_slice("gpus", device("a"), node="one"))
    claim = make_claim("wanted", exactly(1), namespace=workspace)
    admin.post(f"{api}/namespaces/{workspace}/resourceclaims", claim | {"metadata": {"name": "wanted"}})
    pods = f"/api/v1/namespaces/{workspace}/pods"
    admin.post(pods, _without_uid(claiming_pod("device-user", "wanted")))
    yield eventually(lambda: admin.get(f"{pods}/device-user")["spec"].get("nodeName"))
    admin.delete(f"{api}/deviceclasses/gpu")
    admin.delete(f"{api}/resourceslices/gpus")


@pytest.fixture(scope="module")
def volumes(replica: Replica, admin: Api, workspace: str) -> Iterator[str]:
    """A pod that got a volume which was there and one which was made for it; its node."""
    storage = PlayedStorage(admin, workspace)
    storage.create(
        make_storage_class("made"),
        make_storage_class("local", provisioner="kubernetes.io/no-provisioner"),
        make_volume("here", storage_class="local").on("two"),
        make_volume_claim("found", storage_class="local"),
        make_volume_claim("made", storage_class="made"),
    )
    pods = f"/api/v1/namespaces/{workspace}/pods"
    admin.post(pods, _without_uid(make_pod("mounting").claim("found").claim("made")))
    storage.claimed_by("here")
    storage.bind("found", "here")
    node = storage.selected_node("made")
    storage.provision("made", make_volume("new", storage_class="made"))
    eventually(lambda: admin.get(f"{pods}/mounting")["spec"].get("nodeName"))
    yield node
    storage.remove()


@pytest.fixture(scope="module")
def preemptor(replica: Replica, admin: Api, workspace: str) -> None:
    """A pod that needed another's place and got it."""
    pods = f"/api/v1/namespaces/{workspace}/pods"
    admin.post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "urgent"}, "value": 1000})
    admin.post(pods, _without_uid(make_pod("victim").requests(memory="20Gi").node_selector(_ON_TWO)))
    eventually(lambda: admin.get(f"{pods}/victim")["spec"].get("nodeName"))
    urgent = make_pod("urgent").requests(memory="20Gi").node_selector(_ON_TWO).priority_class("urgent")
    admin.post(pods, _without_uid(urgent))
    eventually(lambda: "deletionTimestamp" in admin.get(f"{pods}/victim")["metadata"])
    admin.delete(f"{pods}/victim", gracePeriodSeconds=0)
    eventually(lambda: admin.get(f"{pods}/urgent")["spec"].get("nodeName"))
    admin.delete("/apis/scheduling.k8s.io/v1/priorityclasses/urgent")


@pytest.fixture(scope="module")
def lease(replica: Replica, admin: Api) -> dict[str, Any]:
    """The replica's lease, once it was renewed."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{RELEASE}"
    first = admin.get(path)
    eventually(lambda: admin.get(path)["spec"]["renewTime"] != first["spec"]["renewTime"])
    return dict(first)


def test_the_example_gang_is_bound_and_its_group_says_so(gang: dict[str, Any], admin: Api, workspace: str) -> None:
    pods = admin.get(f"/api/v1/namespaces/{workspace}/pods", labelSelector="scheduling.x-k8s.io/pod-group=first-gang")
    assert [pod["metadata"]["name"] for pod in pods["items"] if pod["spec"].get("nodeName")] == MEMBERS
    [condition] = gang["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Scheduled", "True")

    def reasons() -> list[list[str]]:
        return [[event["reason"] for event in _events(admin, workspace, name)] for name in (*MEMBERS, "first-gang")]

    eventually(lambda: all(reasons()))  # the status and the Event are written side by side
    assert reasons() == [["Scheduled"]] * 4


def test_an_unschedulable_pod_has_a_condition_and_events_with_a_count(
    misfit: list[dict[str, Any]], admin: Api, workspace: str
) -> None:
    path = f"/api/v1/namespaces/{workspace}/pods/misfit"
    [condition] = eventually(lambda: admin.get(path)["status"].get("conditions", ()))
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    reported = {condition["message"], *(event["note"] for event in misfit)}
    assert reported == {f"0/2 nodes are available: 2 Insufficient cpu. {_NO_PREEMPTION}"}
    assert {event["reason"] for event in misfit} == {"FailedScheduling"}


def test_a_pod_is_bound_with_volumes_that_are_there_and_volumes_that_are_made(volumes: str) -> None:
    assert volumes == "two"


def test_only_users_with_the_charts_role_may_read_metrics(replica: Replica, admin: Api) -> None:
    reader = service_account_token(admin, READER["name"])
    status, text = replica.page("/metrics", reader)
    assert status == 200
    assert f'leader_election_master_status{{name="{RELEASE}"}} 1.0' in text
    assert replica.page("/metrics")[0] == 403
    assert replica.page("/metrics", service_account_token(admin, RELEASE))[0] == 403
    assert replica.page("/metrics", "made-up")[0] == 401


def test_the_lease_is_in_the_namespace_of_the_release(lease: dict[str, Any]) -> None:
    assert (lease["metadata"]["namespace"], lease["metadata"]["name"]) == (NAMESPACE, RELEASE)
    assert lease["spec"]["holderIdentity"]


@pytest.mark.usefixtures("gang", "misfit", "lease", "device_user", "volumes", "preemptor")
def test_no_right_is_lacking_and_none_is_needless(replica: Replica, admin: Api, audit: Audit) -> None:
    replica.page("/metrics", service_account_token(admin, READER["name"]))
    assert audit.refused() == []
    assert granted(_rules(admin)) - audit.used() - UNSEEN == set()


@pytest.mark.usefixtures("gang", "misfit", "volumes")
def test_nothing_is_wrong_in_the_log(replica: Replica) -> None:
    assert replica.complaints() == []


def test_no_right_concerns_secrets_and_none_is_a_wildcard(release: str, admin: Api) -> None:
    rights = granted(_rules(admin))
    assert Right("", "pods/binding", "create") in rights
    assert not [right for right in rights if "*" in right or right.resource == "secrets"]


def test_the_notes_say_what_to_do_next(release: str) -> None:
    assert "schedulerName muster" in release
    assert f"kubectl --namespace {NAMESPACE} get lease {RELEASE}" in release
    assert "kind: PodGroup" in release


def _rules(admin: Api) -> list[dict[str, Any]]:
    """The rules of all roles that are bound to the ServiceAccount."""
    namespace, name = SERVICE_ACCOUNT.split(":")[2:]
    rules = []
    for binding in (*admin.get(f"{_RBAC}/clusterrolebindings")["items"], *admin.get(f"{_RBAC}/rolebindings")["items"]):
        if not any((each.get("namespace"), each["name"]) == (namespace, name) for each in binding.get("subjects", ())):
            continue
        role = binding["roleRef"]
        where = f"/namespaces/{binding['metadata']['namespace']}" if role["kind"] == "Role" else ""
        rules += admin.get(f"{_RBAC}{where}/{role['kind'].lower()}s/{role['name']}")["rules"]
    return rules


def _events(admin: Api, namespace: str, about: str) -> list[dict[str, Any]]:
    listed = admin.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")["items"]
    return [event for event in listed if event["regarding"]["name"] == about]


def _without_uid(pod: dict[str, Any]) -> dict[str, Any]:
    """The pod without what only the API server may give; its namespace is that of the path."""
    metadata = {key: value for key, value in pod["metadata"].items() if key not in ("uid", "namespace")}
    return {**pod, "metadata": metadata}
