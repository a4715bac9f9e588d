"""A cluster in virtual time: Muster's process, the controllers of Jobs, kubelets, and a played Kueue in front."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import yaml

from muster.framework.config import load
from muster.framework.scheduler.engine import Engine
from muster.operator.process.settings import LEASE, Assembly, assemble
from muster.plugins.reservation.plugin import reserved_in
from muster.sandbox.controllers import WorkloadControllers
from muster.sandbox.kinds import JOBS, NAMESPACES, NATIVE_POD_GROUPS, NODES, PODS, PRIORITY_CLASSES
from muster.sandbox.lifecycle import DeleteOptions
from muster.sandbox.objects import Object
from muster.sandbox.registry import Kind
from muster.testing import configuration_of
from muster.testing.simulation.stage import Stage
from tests.builders import NodeDict
from tests.kueue.names import ClusterQueue
from tests.kueue.played import PlayedKueue
from tests.kueue.workloads import SPACE, submitted

PAGE = Path(__file__).parents[2] / "docs" / "kueue.md"
_EVERY_SECONDS = 0.5


def on_the_page(containing: str) -> list[Object]:
    """The objects of the one manifest of the page that contains a text, which the page applies or shows."""
    text = PAGE.read_text()
    manifests = [
        *re.findall(r"<<'END'\n(.*?)\nEND\n", text, re.DOTALL),
        *re.findall(r"```yaml\n(.*?)```", text, re.DOTALL),
    ]
    [found] = [manifest for manifest in manifests if containing in manifest]
    return [*yaml.safe_load_all(found)]


def assembly(configuration: bytes) -> Assembly:
    """A process with this configuration and leader election."""
    loaded = load(configuration, "configuration.yaml")
    election = loaded.leader_election.model_copy(update={"leader_elect": True, "resource_name": LEASE})
    return assemble(loaded.model_copy(update={"leader_election": election}))


class KueueCluster:
    """A cluster with these nodes. To be used as a context manager.

    Attributes:
        kueue: what stands in front.
    """

    def __init__(
        self,
        queue: ClusterQueue,
        nodes: Iterable[NodeDict],
        *,
        configuration: bytes = configuration_of(["Coscheduling"]),
    ) -> None:
        self._stage = Stage("kueue", 1, assembly(configuration))
        server, loop = self._stage.server, self._stage.loop
        self._store = server.store
        self._kinds: Mapping[str, Kind] = {
            "Job": JOBS,
            "Pod": PODS,
            "PriorityClass": PRIORITY_CLASSES,
            "Namespace": NAMESPACES,
            "scheduling.x-k8s.io/v1alpha1": server.pod_groups,
            "scheduling.k8s.io/v1beta1": NATIVE_POD_GROUPS,
            "ElasticQuota": server.elastic_quotas,
        }
        self.kueue = PlayedKueue(self._store, queue, loop.time)
        self._controllers = WorkloadControllers(self._store)
        self._random = Random("kueue/controllers")
        self._context = loop.owner("controllers").context
        for node in nodes:
            self._store.create(NODES, node)
        self._step()

    def __enter__(self) -> "KueueCluster":
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        self._stage.judge.look()
        self._stage.end()
        assert failure is not None or self._stage.judge.wrong == []

    @property
    def engine(self) -> Engine:
        """The engine of Muster's process."""
        process = self._stage.replicas[0].process
        assert process is not None
        return process.engine

    def run(self, seconds: float) -> None:
        """Let so much time pass."""
        self._stage.go_on(seconds)
        assert self._stage.loop.failures == []

    def submit(self, *objects: Mapping[str, Any]) -> None:
        """A user creates objects, past Kueue's webhooks."""
        for each in objects:
            typed = {"apiVersion": "v1", "kind": "Pod", **each}
            kind = self._kinds.get(typed["kind"]) or self._kinds[typed["apiVersion"]]
            self._store.create(kind, submitted(typed), namespace=SPACE if kind.namespaced else "")

    def delete(self, name: str) -> None:
        """A user deletes a pod."""
        self._store.delete(PODS, name, namespace=SPACE, options=DeleteOptions())

    def hold_muster(self) -> None:
        """Muster's process stands still."""
        self._stage.replicas[0].stop()

    def let_muster_go(self) -> None:
        """It goes on."""
        self._stage.replicas[0].go_on()

    def pods(self, prefix: str = "") -> list[Object]:
        """The pods whose names begin so."""
        found = self._stage.server.objects(PODS)
        return [pod for pod in found if pod["metadata"]["name"].startswith(prefix)]

    def nodes_of(self, prefix: str = "") -> list[str]:
        """The nodes of these pods that have one and have not ended."""
        alive = [pod for pod in self.pods(prefix) if pod["status"].get("phase") not in ("Succeeded", "Failed")]
        return sorted(pod["spec"]["nodeName"] for pod in alive if pod["spec"].get("nodeName"))

    def waits_because(self, prefix: str) -> set[str]:
        """The reasons that the conditions of these pods give for their having no node."""
        waiting = [pod for pod in self.pods(prefix) if not pod["spec"].get("nodeName")]
        conditions = [each for pod in waiting for each in pod["status"].get("conditions") or ()]
        return {each.get("reason", "") for each in conditions if each["type"] == "PodScheduled"}

    def status(self, name: str, *, api: str = "scheduling.x-k8s.io/v1alpha1") -> Object:
        """The status of a PodGroup."""
        found: Object = self._store.get(self._kinds[api], name, namespace=SPACE).obj.get("status", {})
        return found

    def quota(self, name: str) -> Mapping[str, str]:
        """What a namespace uses by its ElasticQuota."""
        found: Object = self._store.get(self._kinds["ElasticQuota"], name, namespace=SPACE).obj
        used: Mapping[str, str] = found["status"]["used"]
        return used

    def holds_nothing(self) -> bool:
        """Whether Muster keeps no capacity for a pod that has no node: none is assumed, nominated or reserved."""
        engine = self.engine
        nodes = [node["metadata"]["name"] for node in self._store.objects(NODES)]
        nominated = [pod for node in nodes for pod in engine.nominator.nominated_pods(node)]
        return not (engine.cache.assumed_count or len(engine.waiting_pods) or nominated or reserved_in(engine.shared))

    def _step(self) -> None:
        """Controllers and Kueue act at intervals; kubelets end the pods that were deleted."""
        self._end_pods()
        self._controllers.step()
        self.kueue.step()
        delay = self._random.random() * _EVERY_SECONDS
        self._stage.loop.call_later(delay, self._step, context=self._context)

    def _end_pods(self) -> None:
        """A pod that is deleted on its node has ended there, also while a finalizer keeps the object."""
        for pod in self._stage.server.objects(PODS):
            phase = pod["status"].get("phase")
            if "deletionTimestamp" in pod["metadata"] and pod["spec"].get("nodeName") and phase == "Running":
                self._store.replace_stored(PODS, pod | {"status": pod["status"] | {"phase": "Failed"}})
