"""The engine with quotas and gangs in its cluster, and an API that takes evictions."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from muster.plugins.capacityscheduling.api import ELASTIC_QUOTAS
from muster.plugins.capacityscheduling.plugin import CapacityScheduling
from muster.plugins.capacityscheduling.shared import ledger_in
from muster.plugins.capacityscheduling.tree import Quota
from tests.builders import PodDict, make_node, make_pod
from tests.capacityscheduling.objects import make_quota
from tests.coscheduling.objects import make_member
from tests.coscheduling.world import World
from tests.evicting import Evicting


class QuotaWorld(Evicting, World):
    """A cluster with Muster on it, which shares it between namespaces."""

    def __init__(self, **more: Any) -> None:
        super().__init__(plugins={CapacityScheduling.name: CapacityScheduling}, **more)

    def add_quota(self, namespace: str, **fields: Any) -> str:
        """A quota comes, or is replaced; see `make_quota`."""
        return self.api.put(ELASTIC_QUOTAS.resource, make_quota(namespace, **fields))

    def nodes(self, count: int, cpu: str = "4", **more: str) -> None:
        """Nodes come, with so many cores each."""
        self.add_nodes(*(make_node(f"node-{n}", cpu=cpu).resources(more) for n in range(count)))

    def come(self, namespace: str, *names: str, cpu: str = "1", priority: int = 0, **more: str) -> list[str]:
        """Pods come; `more` are other requests. Returns their keys."""
        return self.add(*(request(namespace, name, cpu, more).priority(priority) for name in names))

    def gang(
        self, namespace: str, name: str, count: int, *, cpu: str = "1", priority: int = 0, least: int | None = None
    ) -> list[str]:
        """A gang comes, of which `least` pods have to start together, by default all. Returns the keys of its pods."""
        self.add_group(name, count if least is None else least, namespace=namespace)
        members = (make_member(f"{name}-{n}", name, namespace=namespace, cpu=cpu) for n in range(count))
        return self.add(*(member.priority(priority) for member in members))

    def placed(self, namespace: str) -> list[str]:
        """The names of the namespace's pods that have nodes and stay, sorted."""
        return sorted(
            pod["metadata"]["name"]
            for key, pod in self.api.pods.items()
            if pod["metadata"]["namespace"] == namespace and pod["spec"].get("nodeName") and key in self.left(key)
        )

    def used(self, namespace: str) -> Mapping[str, int]:
        """What the ledger says that the namespace uses."""
        ledger = ledger_in(self.engine.shared)
        assert ledger is not None
        return ledger.used(self.quota(namespace))

    def quota(self, namespace: str) -> Quota:
        """The namespace's quota in the tree."""
        ledger = ledger_in(self.engine.shared)
        assert ledger is not None
        return ledger.tree.by_namespace[namespace]

    def reason(self, key: str) -> tuple[str, str]:
        """Reason and message of the condition last written to a pod."""
        reason, message, _ = self.conditions[key]
        return reason, message

    def start_times(self, *keys: str) -> None:
        """The pods run, each since a second after the one before."""
        for at, key in enumerate(keys):
            self.api.change("pods", key, partial(_starts, at=f"2026-01-01T00:00:{at:02}Z"))


def _starts(pod: dict[str, Any], at: str) -> None:
    pod.setdefault("status", {}).update(startTime=at)


def request(namespace: str, name: str, cpu: str, more: Mapping[str, str]) -> PodDict:
    """A pod that asks for so many cores, and for what else is named."""
    return make_pod(name, namespace=namespace).requests({"cpu": cpu, **more})
