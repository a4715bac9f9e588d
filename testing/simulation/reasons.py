"""Whether the reason that Muster reports for a waiting pod is the cause: removes it, and checks that the pod fits.

The judge does this at the end, in a cluster at rest that kept all other guarantees. One pod and one node are chosen,
and what the reason names there is removed, one reason after another, as a user of `muster why` would do it.
"""

from __future__ import annotations

from collections.abc import Iterator

from muster.framework.contract.status import Status
from muster.framework.scheduler.explain import explain
from muster.operator.process.process import Process
from muster.sandbox.kinds import NODES, PODS
from muster.sandbox.objects import Object

from .members import group_of
from .pods import STRANGER
from .server import SimulatedServer
from .world import World


class Reasons:
    """Checks the reasons of the first single pod that waits in a cluster with a node.

    Attributes:
        wrong: the violations.
    """

    def __init__(self, server: SimulatedServer, world: World, process: Process) -> None:
        self.wrong: list[str] = []
        self._server = server
        self._world = world
        self._process = process
        self._cures = {
            "NodeUnschedulable": world.nodes.node_is_opened,
            "NodeAffinity": world.nodes.node_moves_to,
            "NodeResourcesFit": world.nodes.node_is_emptied,
            "CapacityScheduling": world.quotas.quota_is_lifted,
        }

    def remove(self) -> Iterator[None]:
        """Remove the named causes one after another. Yields whenever time has to pass."""
        simple = (pod for pod in self._waiting() if group_of(pod) is None and "resourceClaims" not in pod["spec"])
        pod = next(simple, None)
        nodes = sorted(node["metadata"]["name"] for node in self._server.objects(NODES))
        if pod is None or not nodes:
            return
        for other in self._waiting():
            if other is not pod:
                self._world.pods.pod_is_withdrawn(other)
        yield
        name, node, removed = pod["metadata"]["name"], nodes[0], list[str]()
        while self._still_waits(pod):
            status = self._named(pod, node)
            if status is None or status.plugin not in self._cures or status.plugin in removed:
                said = "nothing" if status is None else status.message
                self.wrong.append(f"pod {name} waits for {said!r} of {node}, where {removed} have been removed")
                return
            removed.append(status.plugin)
            self._cures[status.plugin](node, pod)
            yield

    def _named(self, pod: Object, node: str) -> Status | None:
        """The reason that rejects this node for the pod; None if there is none."""
        engine = self._process.engine
        queued = engine.queue.contents.get(pod["metadata"]["uid"])
        if queued is None:
            return None
        found = explain(engine.algorithms[queued.info.pod.spec.scheduler_name], queued.info)
        return found.prefilter or found.rejected.get(node)

    def _waiting(self) -> list[Object]:
        pods = self._server.objects(PODS)
        return [pod for pod in pods if pod["spec"]["schedulerName"] != STRANGER and _waits(pod)]

    def _still_waits(self, pod: Object) -> bool:
        uid = pod["metadata"]["uid"]
        return any(_waits(each) for each in self._server.objects(PODS) if each["metadata"]["uid"] == uid)


def _waits(pod: Object) -> bool:
    return not pod["spec"].get("nodeName")
