"""The stand-ins for kubelets and for the namespace controller."""

import asyncio

import pytest

from muster.sandbox import Sandbox
from muster.sandbox.actions import bind
from muster.sandbox.clock import Generators
from muster.sandbox.incoming import WriteOptions
from muster.sandbox.kinds import CONFIG_MAPS, NAMESPACES, PODS
from muster.sandbox.ledger import Ledger
from muster.sandbox.objects import Object
from muster.sandbox.patching import MERGE
from muster.sandbox.stand_ins import Kubelet
from muster.sandbox.store import ObjectStore
from tests.api_behaviour.objects import binding, config_map
from tests.builders import make_pod

_NOON = 1_767_268_800.0


@pytest.fixture
def store() -> ObjectStore:
    """A store with the namespace `default`, in which it is always noon of the first of January 2026."""
    store = ObjectStore(Ledger(), Generators(clock=lambda: _NOON))
    store.create(NAMESPACES, {"metadata": {"name": "default"}})
    return store


def _bound_pod(store: ObjectStore, name: str = "web") -> None:
    store.create(PODS, make_pod(name))
    bind(store, name, binding(name, "node-1"), namespace="default")


def _status(store: ObjectStore, name: str = "web") -> Object:
    status: Object = store.get(PODS, name, namespace="default").obj["status"]
    return status


async def _settle() -> None:
    """Lets tasks that are ready run, and those that they wake in turn."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_bound_pod_starts(store: ObjectStore) -> None:
    kubelet = Kubelet(store)
    _bound_pod(store)

    kubelet.step()

    status = _status(store)
    conditions = {item["type"]: item["status"] for item in status["conditions"]}
    (container,) = status["containerStatuses"]
    assert status["phase"] == "Running"
    assert status["startTime"] == "2026-01-01T12:00:00Z"
    assert conditions == dict.fromkeys(
        ("PodScheduled", "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"), "True"
    )
    assert (container["name"], container["ready"]) == ("main", True)


def test_every_pod_has_an_address_of_its_own_and_that_of_its_node(store: ObjectStore) -> None:
    kubelet = Kubelet(store)
    for name in ("one", "two"):
        _bound_pod(store, name)

    kubelet.step()

    one, two = _status(store, "one"), _status(store, "two")
    assert one["podIP"] != two["podIP"]
    assert one["podIPs"] == [{"ip": one["podIP"]}]
    assert one["hostIP"] == two["hostIP"] == "127.0.0.1"


def test_a_pod_without_a_node_stays_pending(store: ObjectStore) -> None:
    kubelet = Kubelet(store)
    store.create(PODS, make_pod("web"))

    kubelet.step()

    assert _status(store)["phase"] == "Pending"


def test_a_pod_that_has_ended_is_not_started_again(store: ObjectStore) -> None:
    kubelet = Kubelet(store)
    _bound_pod(store)
    patch, options = {"status": {"phase": "Failed"}}, WriteOptions(subresource="status")
    store.patch(PODS, "web", patch, MERGE, namespace="default", options=options)

    kubelet.step()

    assert _status(store)["phase"] == "Failed"


def test_a_deleted_pod_stops(store: ObjectStore) -> None:
    kubelet = Kubelet(store)
    _bound_pod(store)
    kubelet.step()

    store.delete(PODS, "web", namespace="default")
    kubelet.step()

    assert store.find(PODS, "web", namespace="default") is None


def test_a_deleted_pod_with_finalizers_stops_and_is_still_held(store: ObjectStore) -> None:
    kubelet = Kubelet(store)
    pod = make_pod("web")
    pod["metadata"]["finalizers"] = ["example.com/hold"]
    store.create(PODS, pod)
    bind(store, "web", binding("web", "node-1"), namespace="default")

    store.delete(PODS, "web", namespace="default")
    kubelet.step()
    kubelet.step()

    held = store.get(PODS, "web", namespace="default").obj["metadata"]
    assert held["deletionGracePeriodSeconds"] == 0
    store.patch(PODS, "web", {"metadata": {"finalizers": None}}, MERGE, namespace="default")
    assert store.find(PODS, "web", namespace="default") is None


def test_pods_that_were_bound_before_are_cared_for_too(store: ObjectStore) -> None:
    _bound_pod(store)

    Kubelet(store)

    assert _status(store)["phase"] == "Running"


def test_a_kubelet_that_the_log_has_overtaken_starts_all_pods() -> None:
    store = ObjectStore(Ledger(history=2), Generators())
    store.create(NAMESPACES, {"metadata": {"name": "default"}})
    kubelet = Kubelet(store)
    for name in ("one", "two", "three"):
        _bound_pod(store, name)

    kubelet.step()

    assert [_status(store, name)["phase"] for name in ("one", "two", "three")] == ["Running"] * 3


async def test_the_stand_ins_work_while_the_sandbox_runs(sandbox: Sandbox) -> None:
    _bound_pod(sandbox.store)
    await _settle()

    assert _status(sandbox.store)["phase"] == "Running"


async def test_without_stand_ins_nothing_happens_by_itself() -> None:
    async with Sandbox(stand_ins=False) as sandbox:
        _bound_pod(sandbox.store)
        sandbox.store.create(NAMESPACES, {"metadata": {"name": "team"}})
        sandbox.store.delete(NAMESPACES, "team")
        await _settle()

        assert _status(sandbox.store)["phase"] == "Pending"
        assert sandbox.store.find(NAMESPACES, "team") is not None


async def test_a_namespace_goes_when_its_last_object_does(sandbox: Sandbox) -> None:
    store = sandbox.store
    store.create(NAMESPACES, {"metadata": {"name": "team"}})
    store.create(CONFIG_MAPS, config_map("free", {}), namespace="team")
    store.create(CONFIG_MAPS, config_map("held", {}, finalizers=["example.com/hold"]), namespace="team")

    store.delete(NAMESPACES, "team")
    await _settle()
    left = [obj["metadata"]["name"] for obj in store.objects(CONFIG_MAPS, namespace="team")]
    still_there = store.find(NAMESPACES, "team") is not None
    patch = {"metadata": {"finalizers": None}}
    store.patch(CONFIG_MAPS, "held", patch, MERGE, namespace="team")
    await _settle()

    assert (left, still_there) == (["held"], True)
    assert store.find(NAMESPACES, "team") is None


async def test_a_stand_in_that_fails_is_heard_of() -> None:
    shapeless = {"metadata": {"name": "odd", "namespace": "default"}, "spec": {"nodeName": "a"}}

    async def run() -> None:
        async with Sandbox() as sandbox:
            sandbox.store.replace_stored(PODS, shapeless | {"status": {"phase": "Pending"}})
            await _settle()

    with pytest.raises(KeyError, match="containers"):
        await run()
