"""The pods of workloads come true in a sandbox, and go with their workloads."""

from typing import Any

import pytest

from muster.sandbox.actions import bind
from muster.sandbox.clock import Generators
from muster.sandbox.controllers import WorkloadControllers
from muster.sandbox.kinds import (
    DEPLOYMENTS,
    JOBS,
    NAMESPACES,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from muster.sandbox.ledger import Ledger
from muster.sandbox.lifecycle import DeleteOptions
from muster.sandbox.objects import Object, metadata, name_of
from muster.sandbox.patching import MERGE
from muster.sandbox.registry import Kind
from muster.sandbox.stand_ins import Kubelet
from muster.sandbox.store import ObjectStore
from tests.api_behaviour.objects import binding

_STEPS = 50
_NOON = 1_767_268_800.0
_LABELS = {"app": "web"}
_TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": _LABELS},
    "spec": {"containers": [{"name": "main", "image": "nginx"}]},
}


class World:
    """A store with controllers and kubelets, and as many free nodes as it takes."""

    def __init__(self) -> None:
        self.store = ObjectStore(Ledger(), Generators(clock=lambda: _NOON))
        self.store.create(NAMESPACES, {"metadata": {"name": "default"}})
        self.controllers = WorkloadControllers(self.store)
        self.kubelet = Kubelet(self.store)

    def create(self, kind: Kind, name: str = "web", **spec: Any) -> Object:
        return self.store.create(kind, {"metadata": {"name": name}, "spec": {"template": _TEMPLATE, **spec}}).obj

    def get(self, kind: Kind, name: str = "web") -> Object:
        return self.store.get(kind, name, namespace="default").obj

    def change(self, kind: Kind, name: str = "web", **spec: Any) -> None:
        self.store.patch(kind, name, {"spec": spec}, MERGE, namespace="default")
        self.settle()

    def settle(self, *, started: bool = True) -> None:
        """Lets the controllers, and if `started` the scheduler and kubelets, work until nothing changes any more."""
        for _ in range(_STEPS):
            revision = self.store.ledger.revision
            self.controllers.step()
            for pod in self.pods() if started else ():
                if not pod["spec"].get("nodeName"):
                    bind(self.store, name_of(pod), binding(name_of(pod), "node-1"), namespace="default")
            self.kubelet.step()
            if revision == self.store.ledger.revision:
                return
        raise AssertionError("the controllers do not come to rest")

    def pods(self) -> list[Object]:
        return list(self.store.objects(PODS, namespace="default"))

    def end(self, pod: Object, phase: str) -> None:
        """Makes a pod end as if its containers had."""
        self.store.replace_stored(PODS, pod | {"status": pod["status"] | {"phase": phase, "conditions": []}})


@pytest.fixture
def world() -> World:
    return World()


_SELECTOR = {"matchLabels": _LABELS}


@pytest.mark.parametrize(
    ("kind", "selector"), [(REPLICA_SETS, _SELECTOR), (REPLICATION_CONTROLLERS, _LABELS), (STATEFUL_SETS, _SELECTOR)]
)
def test_a_workload_gets_as_many_pods_as_it_wants(world: World, kind: Kind, selector: Object) -> None:
    owner = world.create(kind, selector=selector, replicas=3)

    world.settle()
    three = world.pods()
    world.change(kind, replicas=1)

    (reference,) = metadata(three[0])["ownerReferences"]
    assert len(three) == 3
    assert (reference["kind"], reference["uid"], reference["controller"]) == (kind.kind, metadata(owner)["uid"], True)
    assert metadata(three[0])["labels"]["app"] == "web"
    assert len(world.pods()) == 1
    status = world.get(kind)["status"]
    assert (status["replicas"], status["readyReplicas"], status["observedGeneration"]) == (1, 1, 2)


def test_a_pod_that_is_gone_is_replaced(world: World) -> None:
    world.create(REPLICA_SETS, selector=_SELECTOR, replicas=2)
    world.settle()
    lost = name_of(world.pods()[0])

    world.store.delete(PODS, lost, namespace="default", options=DeleteOptions(grace=0))
    world.settle()

    assert len(world.pods()) == 2
    assert lost not in map(name_of, world.pods())


def test_pods_without_a_node_are_given_up_first(world: World) -> None:
    world.create(REPLICA_SETS, selector=_SELECTOR, replicas=3)
    world.settle(started=False)
    (placed, *_) = map(name_of, world.pods())
    bind(world.store, placed, binding(placed, "node-1"), namespace="default")
    world.kubelet.step()

    world.store.patch(REPLICA_SETS, "web", {"spec": {"replicas": 1}}, MERGE, namespace="default")
    world.settle(started=False)

    assert list(map(name_of, world.pods())) == [placed]


def test_a_workload_that_cannot_make_its_pods_says_why_and_tries_again(world: World) -> None:
    template = _TEMPLATE | {"spec": {**_TEMPLATE["spec"], "priorityClassName": "high"}}
    world.create(REPLICA_SETS, selector=_SELECTOR, replicas=1, template=template)
    world.settle()
    (condition,) = world.get(REPLICA_SETS)["status"]["conditions"]

    world.change(REPLICA_SETS, template={"spec": {"priorityClassName": None}})

    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert condition["message"].endswith("no PriorityClass with name high was found")
    assert len(world.pods()) == 1
    assert "conditions" not in world.get(REPLICA_SETS)["status"]


def test_the_pods_of_a_stateful_set_come_one_after_another(world: World) -> None:
    world.create(STATEFUL_SETS, "db", selector=_SELECTOR, replicas=2)

    world.settle(started=False)
    first = list(map(name_of, world.pods()))
    world.settle()

    assert first == ["db-0"]
    assert list(map(name_of, world.pods())) == ["db-0", "db-1"]
    assert world.pods()[1]["spec"]["hostname"] == "db-1"


def test_the_pods_of_a_stateful_set_may_come_side_by_side(world: World) -> None:
    world.create(STATEFUL_SETS, "db", selector=_SELECTOR, replicas=3, podManagementPolicy="Parallel")

    world.settle(started=False)

    assert list(map(name_of, world.pods())) == ["db-0", "db-1", "db-2"]


def test_a_deployment_has_its_pods_through_a_replica_set(world: World) -> None:
    world.create(DEPLOYMENTS, selector=_SELECTOR, replicas=3)

    world.settle()

    (replica_set,) = world.store.objects(REPLICA_SETS, namespace="default")
    mark = metadata(replica_set)["labels"]["pod-template-hash"]
    deployment = world.get(DEPLOYMENTS)
    status = deployment["status"]
    assert name_of(replica_set) == f"web-{mark}"
    assert {metadata(pod)["labels"]["pod-template-hash"] for pod in world.pods()} == {mark}
    assert (status["replicas"], status["updatedReplicas"], status["availableReplicas"]) == (3, 3, 3)
    assert [(item["type"], item["status"]) for item in status["conditions"]] == [("Available", "True")]
    assert metadata(deployment)["annotations"] == {"deployment.kubernetes.io/revision": "1"}


def _images(world: World) -> list[str]:
    return sorted(pod["spec"]["containers"][0]["image"] for pod in world.pods())


def _with_image(image: str) -> Object:
    return {"spec": {"containers": [{"name": "main", "image": image}]}}


@pytest.mark.parametrize("strategy", ["RollingUpdate", "Recreate"])
def test_a_new_template_replaces_the_pods_and_an_old_one_brings_them_back(world: World, strategy: str) -> None:
    world.create(DEPLOYMENTS, selector=_SELECTOR, replicas=4, strategy={"type": strategy})
    world.settle()

    world.change(DEPLOYMENTS, template=_with_image("nginx:2"))
    new = _images(world)
    world.change(DEPLOYMENTS, template=_with_image("nginx"))

    assert new == ["nginx:2"] * 4
    assert _images(world) == ["nginx"] * 4
    assert metadata(world.get(DEPLOYMENTS))["annotations"] == {"deployment.kubernetes.io/revision": "3"}


def test_a_rollout_keeps_enough_pods_while_the_new_ones_wait(world: World) -> None:
    world.create(DEPLOYMENTS, selector=_SELECTOR, replicas=4)
    world.settle()

    world.store.patch(DEPLOYMENTS, "web", {"spec": {"template": _with_image("nginx:2")}}, MERGE, namespace="default")
    world.settle(started=False)

    assert _images(world) == ["nginx"] * 3 + ["nginx:2"] * 2
    status = world.get(DEPLOYMENTS)["status"]
    assert (status["updatedReplicas"], status["availableReplicas"], status["unavailableReplicas"]) == (2, 3, 1)


def _job(world: World, **spec: Any) -> None:
    template = {"spec": {**_TEMPLATE["spec"], "restartPolicy": "Never"}}
    world.create(JOBS, "once", template=template, **spec)
    world.settle()


def test_a_job_runs_until_enough_pods_have_succeeded(world: World) -> None:
    _job(world, parallelism=2, completions=3)
    side_by_side = world.pods()
    for pod in side_by_side:
        world.end(pod, "Succeeded")
    world.settle()
    (last,) = [pod for pod in world.pods() if pod["status"]["phase"] == "Running"]

    world.end(last, "Succeeded")
    world.settle()

    status = world.get(JOBS, "once")["status"]
    assert len(side_by_side) == 2
    assert [item["type"] for item in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert (status["succeeded"], status["ready"], status.get("active")) == (3, 0, None)
    assert (status["startTime"], status["completionTime"]) == ("2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z")


def test_a_job_that_fails_too_often_gives_up(world: World) -> None:
    _job(world, backoffLimit=1)
    for _ in range(2):
        (running,) = [pod for pod in world.pods() if pod["status"]["phase"] == "Running"]
        world.end(running, "Failed")
        world.settle()

    (condition,) = world.get(JOBS, "once")["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("Failed", "BackoffLimitExceeded")
    assert len(world.pods()) == 2


def test_an_indexed_job_numbers_its_pods_and_replaces_a_failed_one_under_its_number(world: World) -> None:
    index = "batch.kubernetes.io/job-completion-index"
    _job(world, parallelism=3, completions=3, completionMode="Indexed")
    (second,) = [pod for pod in world.pods() if metadata(pod)["labels"][index] == "1"]

    world.end(second, "Failed")
    world.settle()

    running = [pod for pod in world.pods() if pod["status"]["phase"] == "Running"]
    assert sorted(metadata(pod)["annotations"][index] for pod in running) == ["0", "1", "2"]
    assert sorted(pod["spec"]["hostname"] for pod in running) == ["once-0", "once-1", "once-2"]
    assert all(name_of(pod).startswith(f"{pod['spec']['hostname']}-") for pod in running)


def test_a_suspended_job_has_no_pods_until_it_is_resumed(world: World) -> None:
    _job(world, suspend=True, parallelism=2)
    before = world.pods(), world.get(JOBS, "once")["status"]["conditions"][0]["status"]

    world.change(JOBS, "once", suspend=False)

    (condition,) = world.get(JOBS, "once")["status"]["conditions"]
    assert before == ([], "True")
    assert (condition["type"], condition["status"], condition["reason"]) == ("Suspended", "False", "JobResumed")
    assert len(world.pods()) == 2


@pytest.mark.parametrize("kind", [DEPLOYMENTS, STATEFUL_SETS])
def test_pods_go_with_their_workload_unless_they_are_orphaned(world: World, kind: Kind) -> None:
    for name in ("kept", "gone"):
        world.create(kind, name, selector=_SELECTOR, replicas=2)
    world.settle()

    world.store.delete(kind, "kept", namespace="default", options=DeleteOptions(orphan=True))
    world.store.delete(kind, "gone", namespace="default")
    world.settle()

    assert [name_of(pod).partition("-")[0] for pod in world.pods()] == ["kept", "kept"]


def test_workloads_from_a_dump_are_left_as_they_are(world: World) -> None:
    world.create(REPLICA_SETS, selector=_SELECTOR, replicas=2)
    world.settle()
    for pod in world.pods():
        world.store.ledger.remove(PODS, f"default/{name_of(pod)}")

    WorkloadControllers(world.store).step()

    assert world.pods() == []
