"""The engine with gangs and a played HAMi: the configuration of the page, in virtual time."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from muster.framework.contract import PodInfo, Victims
from muster.framework.contract.extender import ExtenderError, ExtenderFilterResult, MetaVictims
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.ports import Ports
from muster.testing import VirtualScheduler
from muster.testing.engine import engine_of
from tests import applied
from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.coscheduling.world import World
from tests.hami.names import GPU, GROUP_LABEL, REGISTER, Card, Object, annotations, registered, shares_of
from tests.hami.played import LockedError, PlayedDevicePlugins, PlayedHami

ALLOCATION_SECONDS = 0.02
"""How long a device plugin takes to allocate."""
_POLL_SECONDS = 0.1
_RETRY_SECONDS = 28.0
_MOST_QUESTIONS = 500
"""More are a loop without end."""


def on_the_page(containing: str) -> list[Object]:
    """The objects of the one manifest of the page on shared GPUs that contains a text."""
    return applied.on_the_page("gpus.md", containing)


class _Api:
    """Implements `HamiApi` on the API in memory."""

    def __init__(self, world: VirtualScheduler) -> None:
        self._api = world.api

    def nodes(self) -> list[Object]:
        return [*self._api.objects["nodes"].values()]

    def pods(self) -> list[Object]:
        return [*self._api.pods.values()]

    def annotate_pod(self, pod: Object, values: Mapping[str, str]) -> None:
        key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        self._api.change("pods", key, lambda pod: pod["metadata"].setdefault("annotations", {}).update(values))

    def annotate_node(self, name: str, values: Mapping[str, str | None]) -> None:
        def change(node: Object) -> None:
            merged = {**annotations(node), **values}
            node["metadata"]["annotations"] = {key: value for key, value in merged.items() if value is not None}

        self._api.change("nodes", name, change)

    def bind(self, pod: Object, node: str) -> str:
        key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        return self._api.bind(key, node, pod["metadata"]["uid"]) or ""


class HamiExtender:
    """Implements `contract.Extender` with a played HAMi, and a device plugin that allocates what was bound.

    Attributes:
        asked: the pods that it was asked about, with the nodes, in their order.
        fails: errors of bind by the pods' names.
        delays: how long an answer takes, in seconds, by the pods' names.
        retries: whether bind waits for the lock of another pod of a gang, as HAMi does since 2.10.
    """

    name = "https://hami-scheduler"
    weight = 1
    ignorable = False
    is_filter, is_prioritizer, is_binder, supports_preemption = True, False, True, False

    def __init__(self, hami: PlayedHami, plugins: PlayedDevicePlugins, world: VirtualScheduler) -> None:
        self.asked: list[str] = []
        self.fails: dict[str, str] = {}
        self.retries = True
        self.delays: dict[str, float] = {}
        self._hami = hami
        self._plugins = plugins
        self._pods = world.api.pods

    def is_interested(self, pod: PodInfo) -> bool:
        containers = pod.pod.spec.containers
        return any(
            GPU in amounts for each in containers for amounts in (each.resources.requests, each.resources.limits)
        )

    async def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderFilterResult:
        self.asked.append(f"{pod.name}: {' '.join(node_names)}")
        assert len(self.asked) <= _MOST_QUESTIONS
        await asyncio.sleep(self.delays.get(pod.name, 0.0))
        found = self._hami.filter(self._pods[pod.key], node_names)
        return ExtenderFilterResult(found.get("nodeNames", ()), found.get("failedNodes", {}))

    async def prioritize(self, pod: PodInfo, node_names: Sequence[str]) -> Mapping[str, int]:
        raise NotImplementedError

    async def process_preemption(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, MetaVictims]:
        raise NotImplementedError

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        error = self.fails.get(pod.name, "")
        waited = 0.0
        while not error:
            try:
                error = self._hami.bind(pod.name, pod.namespace, pod.uid, node_name)
            except LockedError as locked:
                waited += _POLL_SECONDS
                if self.retries and GROUP_LABEL in pod.pod.metadata.labels and waited < _RETRY_SECONDS:
                    await asyncio.sleep(_POLL_SECONDS)
                else:
                    error = str(locked)
            else:
                break
        if error:
            raise ExtenderError(error)
        asyncio.get_running_loop().call_later(ALLOCATION_SECONDS, self._plugins.step)


class HamiWorld(World):
    """A cluster whose GPUs HAMi shares.

    Attributes:
        hami, plugins, extender: HAMi's parts, played.
    """

    def build(self, ports: Ports) -> Engine:
        [configuration] = on_the_page("kind: KubeSchedulerConfiguration")
        self.hami = PlayedHami(_Api(self), self.clock.wall)
        self.plugins = PlayedDevicePlugins(_Api(self))
        self.extender = HamiExtender(self.hami, self.plugins, self)
        return engine_of(yaml.safe_dump(configuration).encode(), (), replace(ports, extenders=[self.extender]))

    def shares(self) -> dict[str, int]:
        """The memory of each card that pods with nodes have, by their annotations; their nodes are the cards' own."""
        cards = {card: name for name, node in self.api.objects["nodes"].items() for card in _uuids(node)}
        used = dict.fromkeys(cards, 0)
        for pod in self.api.pods.values():
            if pod["spec"].get("nodeName"):
                for share in shares_of(pod):
                    assert cards[share.uuid] == pod["spec"]["nodeName"]
                    used[share.uuid] += share.memory
        return used


def _uuids(node: Object) -> list[str]:
    return [entry.partition(",")[0] for entry in annotations(node).get(REGISTER, "").split(":") if entry]


def gpu_node(name: str, *cards: Card, cpu: str = "8", **more: str) -> NodeDict:
    """A node whose device plugin has registered these cards, by default one."""
    found = cards or (Card(f"GPU-{name}"),)
    return make_node(name, cpu=cpu).annotations({REGISTER: registered(found)}).labels(more)


def sharing(name: str, memory: int, *, cpu: str = "1", group: str = "") -> PodDict:
    """A pod that wants so much memory of one card."""
    pod = make_pod(name).requests(cpu=cpu).limits({GPU: "1", "nvidia.com/gpumem": str(memory)})
    return pod.labels({GROUP_LABEL: group}) if group else pod


def gang(name: str, count: int, memory: int, *, cpu: str = "1") -> list[Any]:
    """The members of a gang."""
    return [sharing(f"{name}-{number}", memory, cpu=cpu, group=name) for number in range(count)]
