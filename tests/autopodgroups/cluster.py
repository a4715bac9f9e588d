"""Muster's processes on an API server whose workloads are made into pods, all of it in virtual time."""

from collections.abc import Mapping
from contextlib import ExitStack
from random import Random
from typing import Any

from muster.framework.config import load
from muster.operator.process.settings import LEASE, Assembly, assemble
from muster.sandbox.kinds import JOBS, NAMESPACES, NODES, PODS, STATEFUL_SETS
from muster.sandbox.lifecycle import DeleteOptions
from muster.sandbox.objects import Object
from muster.sandbox.patching import MERGE
from muster.sandbox.registry import Kind
from muster.sandbox.workloads import controller_of
from muster.testing import configuration_of
from muster.testing.simulation.network import CALM, Weather
from muster.testing.simulation.stage import Stage
from tests.autopodgroups.played import SPACE, PlayedControllers
from tests.autopodgroups.world import LABEL
from tests.builders import make_node

_LONGEST_STEP = 0.3


def assembly(args: Mapping[str, object]) -> Assembly:
    """Coscheduling and the plugin in one profile, with leader election."""
    given = {"AutoPodGroups": args} if args else {}
    configuration = load(configuration_of(["Coscheduling", "AutoPodGroups"], args=given), "configuration.yaml")
    election = configuration.leader_election.model_copy(update={"leader_elect": True, "resource_name": LEASE})
    return assemble(configuration.model_copy(update={"leader_election": election}))


class WorkloadCluster:
    """A cluster of nodes with one core each. To be used as a context manager.

    Attributes:
        stage: the API server and the processes.
        kinds: the kinds of workloads, by name.
    """

    def __init__(
        self,
        nodes: int,
        *,
        seed: str = "workloads",
        args: Mapping[str, object] = {},
        replicas: int = 1,
        weather: Weather = CALM,
        mark: str = "true",
    ) -> None:
        self.stage = Stage(seed, replicas, assembly(args))
        for replica in self.stage.replicas:
            replica.weather = weather
        server = self.stage.server
        self._store = server.store
        self._controllers = PlayedControllers(self._store, server.pod_groups)
        self._groups = server.pod_groups
        self.kinds: Mapping[str, Kind] = {
            "Job": JOBS,
            "StatefulSet": STATEFUL_SETS,
            "JobSet": self._controllers.job_sets,
            "LeaderWorkerSet": self._controllers.leader_worker_sets,
        }
        self._random = Random(f"{seed}/controllers")
        self._context = self.stage.loop.owner("controllers").context
        self._is_due = False
        self._listening = ExitStack()
        self._listening.enter_context(self._store.ledger.listening(self._changed))
        for number in range(nodes):
            self.add_node(f"node-{number}")
        if mark:
            labels = {"metadata": {"labels": {LABEL: mark}}}
            self._store.patch(NAMESPACES, SPACE, labels, MERGE)

    def __enter__(self) -> "WorkloadCluster":
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()
        self.stage.end()

    def run(self, seconds: float) -> None:
        """Let so much time pass."""
        loop = self.stage.loop
        loop.run_until(loop.time() + seconds)
        assert loop.failures == []

    def add_node(self, name: str) -> None:
        """A node with one core comes."""
        self._store.create(NODES, make_node(name, cpu="1"))

    def create(self, workload: Object) -> None:
        """A user creates a workload."""
        self._store.create(self.kinds[workload["kind"]], workload, namespace=SPACE)

    def change(self, kind: str, name: str, **spec: Any) -> None:
        """A user changes fields of a workload's spec."""
        self._store.patch(self.kinds[kind], name, {"spec": spec}, MERGE, namespace=SPACE)

    def delete(self, kind: str, name: str) -> None:
        """A user deletes a workload."""
        self._store.delete(self.kinds[kind], name, namespace=SPACE, options=DeleteOptions(grace=0))

    def end_pod(self, name: str, phase: str) -> None:
        """A pod ends in this phase."""
        pod = self._store.get(PODS, name, namespace=SPACE).obj
        self._store.replace_stored(PODS, pod | {"status": pod["status"] | {"phase": phase, "conditions": []}})

    def pods(self) -> list[Object]:
        """All pods."""
        return self.stage.server.objects(PODS)

    def pods_of(self, controller: str) -> list[str]:
        """The names of the pods of a Job or StatefulSet."""
        return [pod["metadata"]["name"] for pod in self.pods() if (controller_of(pod) or {}).get("name") == controller]

    def bound(self) -> list[str]:
        """The names of the pods that have a node and have not ended."""
        alive = (pod for pod in self.pods() if pod["status"].get("phase") not in ("Succeeded", "Failed"))
        return sorted(pod["metadata"]["name"] for pod in alive if pod["spec"].get("nodeName"))

    @property
    def ever_bound(self) -> int:
        """How many pods have been bound, whatever became of them."""
        return len(self.stage.judge.bound)

    def groups(self, kind: Kind | None = None) -> dict[str, Object]:
        """The PodGroups by name."""
        found = self.stage.server.objects(kind or self._groups)
        return {group["metadata"]["name"]: group for group in found}

    def sizes(self) -> dict[str, int]:
        """The minMember of each PodGroup, by name."""
        return {name: group["spec"]["minMember"] for name, group in self.groups().items()}

    def _changed(self) -> None:
        """Controllers act some time after each change."""
        if not self._is_due:
            self._is_due = True
            delay = self._random.random() * _LONGEST_STEP
            self.stage.loop.call_later(delay, self._step, context=self._context)

    def _step(self) -> None:
        self._is_due = False
        self._controllers.step()
