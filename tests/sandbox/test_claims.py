"""The stand-ins for the controllers of claims and budgets."""

from typing import Any

import pytest

from muster.sandbox.actions import bind, evict
from muster.sandbox.claims import SELECTED_NODE, DeviceClaimController, VolumeController
from muster.sandbox.clock import Generators
from muster.sandbox.errors import StatusError
from muster.sandbox.kinds import (
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    STORAGE_CLASSES,
)
from muster.sandbox.ledger import Ledger
from muster.sandbox.lifecycle import PLAIN_DELETE, DeleteOptions
from muster.sandbox.objects import Object, metadata, name_of
from muster.sandbox.patching import MERGE
from muster.sandbox.stand_ins import BudgetController, Kubelet
from muster.sandbox.store import ObjectStore
from tests.api_behaviour.objects import binding
from tests.builders import make_node, make_pod

_NOON = 1_767_268_800.0
_AT_ONCE = DeleteOptions(grace=0)


@pytest.fixture
def store() -> ObjectStore:
    """A store with the namespace `default`, in which it is always noon of the first of January 2026."""
    store = ObjectStore(Ledger(), Generators(clock=lambda: _NOON))
    store.create(NAMESPACES, {"metadata": {"name": "default"}})
    return store


def _make_claim(store: ObjectStore, size: str = "1Gi", **spec: Any) -> None:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    store.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "data"}, "spec": wanted | spec})


def _make_volume(store: ObjectStore, name: str, size: str, **spec: Any) -> None:
    offered = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "hostPath": {"path": "/a"}}
    store.create(PERSISTENT_VOLUMES, {"metadata": {"name": name}, "spec": offered | spec})


def _make_class(store: ObjectStore, **fields: Any) -> None:
    store.create(STORAGE_CLASSES, {"metadata": {"name": "fast"}, "provisioner": "a.b", **fields})


def _claim(store: ObjectStore) -> Object:
    return store.get(PERSISTENT_VOLUME_CLAIMS, "data", namespace="default").obj


def _phases(store: ObjectStore) -> dict[str, str]:
    return {name_of(volume): volume["status"]["phase"] for volume in store.objects(PERSISTENT_VOLUMES)}


def test_a_claim_is_bound_to_the_smallest_volume_that_fits(store: ObjectStore) -> None:
    for name, size in (("large", "9Gi"), ("small", "1Mi"), ("right", "2Gi")):
        _make_volume(store, name, size)
    _make_claim(store)

    VolumeController(store).step()

    claim = _claim(store)
    assert claim["spec"]["volumeName"] == "right"
    assert (claim["status"]["phase"], claim["status"]["capacity"]) == ("Bound", {"storage": "2Gi"})
    assert _phases(store) == {"large": "Available", "small": "Available", "right": "Bound"}


@pytest.mark.parametrize(
    "spec",
    [
        {"storageClassName": "other"},
        {"accessModes": ["ReadOnlyMany"]},
        {"volumeMode": "Block"},
        {"claimRef": {"namespace": "default", "name": "another"}},
    ],
)
def test_a_volume_that_does_not_fit_is_left_alone(store: ObjectStore, spec: dict[str, Any]) -> None:
    _make_volume(store, "one", "2Gi", **spec)
    _make_claim(store)

    VolumeController(store).step()

    assert _claim(store)["status"]["phase"] == "Pending"


def test_a_volume_is_created_at_once_with_immediate_binding(store: ObjectStore) -> None:
    _make_class(store)
    _make_claim(store, storageClassName="fast")

    VolumeController(store).step()

    (volume,) = store.objects(PERSISTENT_VOLUMES)
    assert _claim(store)["spec"]["volumeName"] == name_of(volume) == f"pvc-{metadata(_claim(store))['uid']}"
    assert volume["spec"]["csi"]["driver"] == "a.b"
    assert volume["spec"]["claimRef"]["uid"] == metadata(_claim(store))["uid"]


def test_a_claim_that_waits_gets_its_volume_where_the_scheduler_wants_it(store: ObjectStore) -> None:
    store.create(NODES, make_node("one").zone("a"))
    _make_class(store, volumeBindingMode="WaitForFirstConsumer")
    _make_claim(store, storageClassName="fast")
    controller = VolumeController(store)
    controller.step()
    before = _claim(store)["status"]["phase"]

    chosen = {"metadata": {"annotations": {SELECTED_NODE: "one"}}}
    store.patch(PERSISTENT_VOLUME_CLAIMS, "data", chosen, MERGE, namespace="default")
    controller.step()

    (volume,) = store.objects(PERSISTENT_VOLUMES)
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert (before, _claim(store)["status"]["phase"]) == ("Pending", "Bound")
    assert term["matchExpressions"][0]["values"] == ["a"]


def test_a_claim_that_waits_gets_the_volume_that_the_scheduler_keeps_for_it(store: ObjectStore) -> None:
    _make_class(store, volumeBindingMode="WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner")
    _make_claim(store, storageClassName="fast")
    _make_volume(store, "local", "2Gi", storageClassName="fast")
    controller = VolumeController(store)
    controller.step()
    before = _claim(store)["status"]["phase"]

    reference = {"namespace": "default", "name": "data", "uid": metadata(_claim(store))["uid"]}
    store.patch(PERSISTENT_VOLUMES, "local", {"spec": {"claimRef": reference}}, MERGE)
    controller.step()

    assert (before, _claim(store)["spec"]["volumeName"]) == ("Pending", "local")


@pytest.mark.parametrize(("policy", "left"), [("Retain", {"one": "Released"}), ("Delete", {})])
def test_a_volume_is_given_back_when_its_claim_goes(store: ObjectStore, policy: str, left: dict[str, str]) -> None:
    _make_volume(store, "one", "2Gi", persistentVolumeReclaimPolicy=policy)
    _make_claim(store)
    controller = VolumeController(store)
    controller.step()

    store.delete(PERSISTENT_VOLUME_CLAIMS, "data", namespace="default")
    controller.step()

    assert _phases(store) == left


_REQUEST = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}


def _pod_with_template(store: ObjectStore) -> Object:
    pod = make_pod("web")
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]
    return store.create(PODS, pod).obj


def test_a_pod_gets_the_device_claims_that_its_templates_describe(store: ObjectStore) -> None:
    pod, controller = _pod_with_template(store), DeviceClaimController(store)
    controller.step()
    before = list(store.objects(RESOURCE_CLAIMS))

    template = {"metadata": {"labels": {"a": "b"}}, "spec": _REQUEST}
    store.create(RESOURCE_CLAIM_TEMPLATES, {"metadata": {"name": "gpus"}, "spec": template})
    controller.step()
    controller.step()

    (claim,) = store.objects(RESOURCE_CLAIMS)
    status = store.get(PODS, "web", namespace="default").obj["status"]
    assert before == []
    (owner,) = metadata(claim)["ownerReferences"]
    assert (metadata(claim)["labels"], owner["uid"]) == ({"a": "b"}, metadata(pod)["uid"])
    assert status["resourceClaimStatuses"] == [{"name": "gpu", "resourceClaimName": name_of(claim)}]


def test_devices_are_freed_and_made_up_claims_removed_when_their_pod_goes(store: ObjectStore) -> None:
    store.create(RESOURCE_CLAIM_TEMPLATES, {"metadata": {"name": "gpus"}, "spec": {"spec": _REQUEST}})
    shared = store.create(RESOURCE_CLAIMS, {"metadata": {"name": "shared"}, "spec": _REQUEST}).obj
    pod, controller = _pod_with_template(store), DeviceClaimController(store)
    controller.step()
    reserved = [{"resource": "pods", "name": "web", "uid": metadata(pod)["uid"]}]
    status = {"allocation": {"devices": {"results": []}}, "reservedFor": reserved}
    store.replace_stored(RESOURCE_CLAIMS, shared | {"status": status})
    controller.step()
    before = len(list(store.objects(RESOURCE_CLAIMS)))

    store.delete(PODS, "web", namespace="default", options=_AT_ONCE)
    controller.step()

    (left,) = store.objects(RESOURCE_CLAIMS)
    assert (before, name_of(left), left["status"]) == (2, "shared", {})


@pytest.mark.parametrize(
    ("spec", "desired", "allowed"),
    [
        ({"minAvailable": 2}, 2, 1),
        ({"minAvailable": "50%"}, 2, 1),
        ({"maxUnavailable": 1}, 2, 1),
        ({"maxUnavailable": "34%"}, 1, 2),
        ({"minAvailable": 3}, 3, 0),
    ],
)
def test_a_budget_knows_how_many_pods_may_go(
    store: ObjectStore, spec: dict[str, Any], desired: int, allowed: int
) -> None:
    for number in range(3):
        store.create(PODS, make_pod(f"web-{number}").labels(app="web"))
        bind(store, f"web-{number}", binding(f"web-{number}", "node-1"), namespace="default")
    selected = spec | {"selector": {"matchLabels": {"app": "web"}}}
    store.create(POD_DISRUPTION_BUDGETS, {"metadata": {"name": "keep"}, "spec": selected})
    Kubelet(store).step()
    controller = BudgetController(store)

    controller.step()
    status = store.get(POD_DISRUPTION_BUDGETS, "keep", namespace="default").obj["status"]
    refused = 0
    for number in range(3):
        name = f"web-{number}"
        try:
            evict(store, name, {"metadata": {"name": name}}, namespace="default", options=PLAIN_DELETE)
        except StatusError as error:
            refused += error.code == 429
        controller.step()

    assert (status["expectedPods"], status["currentHealthy"]) == (3, 3)
    assert (status["desiredHealthy"], status["disruptionsAllowed"], refused) == (desired, allowed, 3 - allowed)
