"""The quota of the namespace that all pods of a simulation are in: an administrator sets it, and the judge reads it.

It limits CPU by its `max` alone. What namespaces lend to one another is played by histories of its own, which need no
API: `tests.capacityscheduling.histories`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from random import Random

from muster.framework.model.quantity import milli_value, nanos
from muster.sandbox.kinds import PODS
from muster.sandbox.objects import Object

from .acts import Act
from .amounts import cpu, has_ended
from .meddling import Meddling
from .passing import AT_ONCE, NAMESPACE
from .server import EPOCH, SimulatedServer

_NAME = "quota"
_LIMITED = 0.25
"""The share of histories with a quota, and of quotas that are removed."""
_AMOUNTS = (1000, 2000, 4000, 6000, 9000)
_ON_THE_WAY_SECONDS = 60.0
"""From a decision to its last Binding, with every fault."""


class QuotaActs:
    """Carries out acts on the quota.

    Attributes:
        changed_at: when it changed last while there were pods, in seconds on the loop's clock.
    """

    def __init__(self, server: SimulatedServer, meddling: Meddling) -> None:
        self.changed_at = -inf
        self._server = server
        self._store = server.store
        self._meddling = meddling

    def quota_is_set(self, most: int) -> None:
        """From now on the namespace may use so much, in thousandths of a CPU."""
        self._changes()
        kind, spec = self._server.elastic_quotas, {"max": {"cpu": f"{most}m"}}
        found = self._store.find(kind, _NAME, namespace=NAMESPACE)
        if found is None:
            quota = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": _NAME}, "spec": spec}
            self._store.create(kind, quota, namespace=NAMESPACE)
        else:
            self._store.update(kind, _NAME, found.obj | {"spec": spec}, namespace=NAMESPACE)

    def quota_goes(self) -> None:
        """The namespace may use what it likes."""
        self._changes()
        if self._store.find(self._server.elastic_quotas, _NAME, namespace=NAMESPACE) is not None:
            self._store.delete(self._server.elastic_quotas, _NAME, namespace=NAMESPACE, options=AT_ONCE)

    def quota_is_lifted(self, node: str, pod: Object) -> None:
        """A user removes what keeps a pod from all nodes."""
        self.quota_goes()

    def is_known(self) -> bool:
        """Whether all that is bound from now on was decided by a process that knew the quota."""
        since = max(self.changed_at, self._meddling.unnoticed_until)
        return self._server.wall() - EPOCH > since + _ON_THE_WAY_SECONDS

    def _changes(self) -> None:
        pods = self._server.objects(PODS)
        if pods:
            self.changed_at = self._server.wall() - EPOCH
        for pod in pods:
            if not pod["spec"].get("nodeName"):
                self._meddling.touch_group_of(pod)


def limit(server: SimulatedServer) -> float:
    """The most that the pods of the namespace may use together, in thousandths of a CPU; infinity without a quota."""
    found = server.store.find(server.elastic_quotas, _NAME, namespace=NAMESPACE)
    return inf if found is None else milli_value(nanos(found.obj["spec"]["max"]["cpu"]))


def used(pods: Iterable[Object]) -> int:
    """The usage of the pods that have nodes, in thousandths of a CPU."""
    return sum(cpu(pod) for pod in pods if pod["spec"].get("nodeName") and not has_ended(pod))


def quotas_of(seed: str, seconds: float) -> Iterator[Act]:
    """The quota of a history, if it has one: there from the start or set later, changed, and removed."""
    random = Random(f"{seed}/quota")
    if random.random() >= _LIMITED:
        return
    begin = random.choice((0.0, 0.0, random.uniform(0.0, seconds * 0.5)))
    yield Act(begin, "quota_is_set", (random.choice(_AMOUNTS),))
    for _ in range(random.choice((0, 0, 1, 2))):
        yield Act(random.uniform(begin, seconds), "quota_is_set", (random.choice(_AMOUNTS),))
    if random.random() < _LIMITED:
        yield Act(random.uniform(begin, seconds), "quota_goes")
