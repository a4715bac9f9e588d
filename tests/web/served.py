"""A sandbox whose cluster is followed and shown as pages, on the event loop of the test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from muster.framework.config import ExtenderConfig
from muster.framework.model.pod import Pod
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import load_connection
from muster.operator.kube.transport import Transport
from muster.operator.process.settings import assemble, muster_configuration
from muster.operator.serving import Server
from muster.operator.web.cluster_history import ClusterHistory
from muster.operator.web.remote_cluster import ClusterOptions, RemoteCluster
from muster.operator.web.routes import Clocks, PageRoutes
from muster.operator.web.safety import KEY, only_with
from muster.operator.web.stream import Ticker
from muster.plugins.coscheduling.api import POD_GROUPS, PodGroup
from muster.plugins.coscheduling.definition import definition
from muster.sandbox import NodeShape, Sandbox
from muster.sandbox.kinds import NODES, PODS
from muster.sandbox.registry import Kind
from tests.builders import PodDict, make_pod

SECRET = "the-key"
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 30.0
_FOUR_CORES = NodeShape(cpu="4")


@dataclass
class Shown:
    """The cluster, and where its pages are."""

    sandbox: Sandbox
    url: str
    followed: RemoteCluster | None = None
    ticker: Ticker | None = None

    @property
    def entrance(self) -> str:
        """The address with the key, which a browser then keeps."""
        return f"{self.url}/?{KEY}={SECRET}"

    async def page(self, path: str) -> str:
        """The page as a browser with the key gets it."""
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            async with session.get(self.entrance):
                pass
            async with session.get(f"{self.url}{path}") as response:
                return await response.text()

    def pod(self, pod: PodDict, *, message: str = "") -> None:
        """There is this pod, of which a scheduler says why it waits."""
        given: dict[str, Any] = dict(pod)
        given["status"] = {"phase": "Pending", "conditions": [_unscheduled(message)] if message else []}
        self.sandbox.load([{"apiVersion": "v1", "kind": "Pod", **given}])

    def group(
        self, name: str, *, needs: int, status: Mapping[str, Any] | None = None, namespace: str = "default"
    ) -> None:
        """There is this group."""
        kind = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
        meta = {"name": name, "namespace": namespace}
        self.sandbox.load([{**kind, "metadata": meta, "spec": {"minMember": needs}, "status": dict(status or {})}])

    def cordon(self, node: str) -> None:
        """The node takes no more pods."""
        found = self.sandbox.store.get(NODES, node).obj
        self.sandbox.load([{**found, "spec": {**found.get("spec", {}), "unschedulable": True}}])

    async def shows_all(self) -> None:
        """Return when the pages know all pods and groups that there are, in their latest versions."""
        assert self.followed is not None
        assert self.ticker is not None
        kind = self.sandbox.store.kinds.by_type("scheduling.x-k8s.io/v1alpha1", "PodGroup")
        assert kind is not None
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while self._stored(PODS) != _seen(self.followed.pods()) or self._stored(kind) != _seen(
                self.followed.group_objects(POD_GROUPS)
            ):
                await self.ticker.poll()
        await self.ticker.poll()

    def _stored(self, kind: Kind) -> set[str]:
        return {obj["metadata"]["resourceVersion"] for obj in self.sandbox.store.objects(kind)}

    def delete_pod(self, name: str) -> None:
        """The pod goes."""
        self.sandbox.store.delete(PODS, name, namespace="default")


def _seen(objects: Iterable[Pod | PodGroup]) -> set[str]:
    return {obj.metadata.resource_version for obj in objects}


def _unscheduled(message: str) -> dict[str, str]:
    return {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}


def _guarded(pages: PageRoutes, base: str) -> web.Application:
    if not base:
        return pages.application([only_with(SECRET)])
    outer = web.Application(middlewares=[only_with(SECRET)])
    outer.add_subapp(base, pages.application())
    return outer


def member(group: str, number: int, *, cpu: str = "1") -> PodDict:
    """A pod of a group."""
    return make_pod(f"{group}-{number}").labels({GROUP_LABEL: group}).requests(cpu=cpu)


@asynccontextmanager
async def shown(
    folder: Path,
    *,
    nodes: int = 6,
    shape: NodeShape = _FOUR_CORES,
    base: str = "",
    every: float = _POLL_SECONDS,
    stand_ins: bool = False,
    extenders: Sequence[ExtenderConfig] = (),
    history: ClusterHistory | None = None,
) -> AsyncIterator[Shown]:
    """A cluster without a scheduler, without kubelets unless there are `stand_ins`, followed by pages below `base`."""
    sandbox = Sandbox([definition()], stand_ins=stand_ins)
    sandbox.nodes(nodes, shape=shape)
    async with sandbox:
        connection = load_connection(sandbox.kubeconfig(folder / "kubeconfig"))
        configuration = muster_configuration().model_copy(update={"extenders": tuple(extenders)})
        options = ClusterOptions(connection=connection, assembly=assemble(configuration))
        async with Transport(connection) as transport:
            cluster = RemoteCluster(options, ApiClient(transport))
            clocks = Clocks(wall=time.time, timer=time.monotonic)
            pages = PageRoutes(cluster, time=clocks, about=connection.server, base=base, every=every, history=history)
            server = Server(_guarded(pages, base), host="127.0.0.1", port=0, tls=None)
            port = await server.start()
            await cluster.start()
            await pages.ticker.poll()
            ticking = asyncio.create_task(pages.ticker.run())
            try:
                yield Shown(sandbox, f"http://127.0.0.1:{port}{base}", cluster, pages.ticker)
            finally:
                ticking.cancel()
                await server.stop()
                await cluster.stop()
