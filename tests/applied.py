"""A cluster in virtual time to which manifests are applied: Muster's process, the controllers of Jobs, and kubelets.

Tests take the manifests from the pages of the documentation, literally.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any, Self

import yaml

from muster.framework.config import load
from muster.framework.scheduler.engine import Engine
from muster.operator.process.settings import LEASE, Assembly, assemble
from muster.plugins.reservation.plugin import reserved_in
from muster.sandbox.controllers import WorkloadControllers
from muster.sandbox.kinds import NODES, PODS
from muster.sandbox.lifecycle import DeleteOptions
from muster.sandbox.objects import Object
from muster.sandbox.registry import Kind
from muster.testing import configuration_of
from muster.testing.simulation.stage import Stage
from tests.builders import NodeDict

SPACE = "default"
DOCS = Path(__file__).parents[1] / "docs"
PLAIN = configuration_of(["Coscheduling"])
_MANIFESTS = (r"<<'END'\n(.*?)\nEND\n", r"^ *```yaml\n(.*?)```")
_EVERY_SECONDS = 0.5


def on_the_page(page: str, containing: str) -> list[Object]:
    """The objects of the one manifest of a page that contains a text, which the page applies or shows."""
    text = (DOCS / page).read_text()
    manifests = [found for pattern in _MANIFESTS for found in re.findall(pattern, text, re.DOTALL | re.MULTILINE)]
    [found] = [manifest for manifest in manifests if containing in manifest]
    return [*yaml.safe_load_all(found)]


def _assembly(configuration: bytes) -> Assembly:
    """A process with this configuration and leader election."""
    loaded = load(configuration, "configuration.yaml")
    election = loaded.leader_election.model_copy(update={"leader_elect": True, "resource_name": LEASE})
    return assemble(loaded.model_copy(update={"leader_election": election}))


class AppliedCluster:
    """A cluster with these nodes. To be used as a context manager.

    The judge of the simulation looks on, unless it is not `judged`: it knows no devices that several claims share.
    """

    def __init__(self, nodes: Iterable[NodeDict], *, configuration: bytes = PLAIN, judged: bool = True) -> None:
        self._stage = Stage("applied", 1, _assembly(configuration))
        self._judged = judged
        if not judged:
            self._stage.server.on_request = lambda request, answer: None
        self._store = self._stage.server.store
        self._controllers = WorkloadControllers(self._store)
        self._random = Random("applied/controllers")
        self._context = self._stage.loop.owner("controllers").context
        for node in nodes:
            self._store.create(NODES, node)

    def __enter__(self) -> Self:
        self._go_on()
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if self._judged:
            self._stage.judge.look()
        self._stage.end()
        assert failure is not None or self._stage.judge.wrong == [], self._stage.judge.wrong

    @property
    def engine(self) -> Engine:
        """The engine of Muster's process."""
        process = self._stage.replicas[0].process
        assert process is not None
        return process.engine

    def step(self) -> None:
        """What controllers and kubelets do now and then."""
        self._end_pods()
        self._controllers.step()

    def admit(self, obj: Object) -> Object:
        """A new object as webhooks leave it."""
        return obj

    def run(self, seconds: float) -> None:
        """Let so much time pass."""
        self._stage.go_on(seconds)
        assert self._stage.loop.failures == [], self._stage.loop.failures

    def apply(self, *objects: Mapping[str, Any]) -> None:
        """A user creates objects."""
        for each in objects:
            typed = {"apiVersion": "v1", "kind": "Pod", **each}
            kind = self.kind(typed["apiVersion"], typed["kind"])
            self._store.create(kind, self.admit(typed), namespace=SPACE if kind.namespaced else "")

    def kind(self, api_version: str, kind: str) -> Kind:
        """A kind that the API serves."""
        found = self._store.kinds.by_type(api_version, kind)
        assert found is not None, (api_version, kind)
        return found

    def objects(self, kind: Kind) -> list[Object]:
        """All objects of a kind."""
        return self._stage.server.objects(kind)

    def delete(self, name: str, kind: Kind = PODS) -> None:
        """A user deletes an object, by default a pod."""
        self._store.delete(kind, name, namespace=SPACE, options=DeleteOptions())

    def hold_muster(self) -> None:
        """Muster's process stands still."""
        self._stage.replicas[0].stop()

    def let_muster_go(self) -> None:
        """It goes on."""
        self._stage.replicas[0].go_on()

    def pods(self, prefix: str = "") -> list[Object]:
        """The pods whose names begin so."""
        return [pod for pod in self.objects(PODS) if pod["metadata"]["name"].startswith(prefix)]

    def nodes_of(self, prefix: str = "") -> list[str]:
        """The nodes of these pods that have one and have not ended."""
        alive = [pod for pod in self.pods(prefix) if pod["status"].get("phase") not in ("Succeeded", "Failed")]
        return sorted(pod["spec"]["nodeName"] for pod in alive if pod["spec"].get("nodeName"))

    def waits_because(self, prefix: str) -> set[str]:
        """The reasons that the conditions of these pods give for their having no node."""
        waiting = [pod for pod in self.pods(prefix) if not pod["spec"].get("nodeName")]
        conditions = [each for pod in waiting for each in pod["status"].get("conditions") or ()]
        return {each.get("reason", "") for each in conditions if each["type"] == "PodScheduled"}

    def status(self, name: str, *, api: str = "scheduling.x-k8s.io/v1alpha1", kind: str = "PodGroup") -> Object:
        """The status of an object, by default of a PodGroup."""
        found: Object = self._store.get(self.kind(api, kind), name, namespace=SPACE).obj.get("status", {})
        return found

    def holds_nothing(self) -> bool:
        """Whether Muster keeps no capacity for a pod that has no node: none is assumed, nominated or reserved."""
        engine = self.engine
        nodes = [node["metadata"]["name"] for node in self.objects(NODES)]
        nominated = [pod for node in nodes for pod in engine.nominator.nominated_pods(node)]
        return not (engine.cache.assumed_count or len(engine.waiting_pods) or nominated or reserved_in(engine.shared))

    def _go_on(self) -> None:
        self.step()
        delay = self._random.random() * _EVERY_SECONDS
        self._stage.loop.call_later(delay, self._go_on, context=self._context)

    def _end_pods(self) -> None:
        """A pod that is deleted on its node has ended there, also while a finalizer keeps the object."""
        for pod in self.objects(PODS):
            phase = pod["status"].get("phase")
            if "deletionTimestamp" in pod["metadata"] and pod["spec"].get("nodeName") and phase == "Running":
                self._store.replace_stored(PODS, pod | {"status": pod["status"] | {"phase": "Failed"}})
