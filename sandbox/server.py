"""The sandbox as a whole: a store, the stand-ins that keep it alive, and an HTTP server on the loopback address."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Self

import yaml
from aiohttp import web

from muster.sandbox import contents
from muster.sandbox.claims import DeviceClaimController, VolumeController
from muster.sandbox.clock import REAL, Generators
from muster.sandbox.contents import STANDARD_NODE, NodeShape, synthetic_nodes
from muster.sandbox.controllers import WorkloadControllers
from muster.sandbox.http import BODY_LIMIT, Handler
from muster.sandbox.kinds import (
    CUSTOM_RESOURCE_DEFINITIONS,
    KINDS,
    NAMESPACES,
    NATIVE_GROUP_KINDS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
)
from muster.sandbox.ledger import Ledger
from muster.sandbox.objects import Object, name_of
from muster.sandbox.registry import Kind
from muster.sandbox.rules.cluster import SYSTEM_PRIORITIES
from muster.sandbox.stand_ins import BudgetController, Kubelet, NamespaceCleaner
from muster.sandbox.store import ObjectStore

HOST = "127.0.0.1"
_log = logging.getLogger(__name__)
_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class Sandbox:
    """A Kubernetes API to play with: `async with Sandbox() as sandbox` serves it until the block ends.

    `definitions` are the CustomResourceDefinitions that it serves from the start. `store` may be used directly, also
    before the server starts, from the thread that runs the event loop. Without `stand_ins` there is neither kubelet nor
    controller, as on an API server that runs alone: bound pods stay pending, deleted ones and namespaces stay
    terminating, workloads get no pods. `native_groups` serves the groups and Workloads of scheduling.k8s.io, as
    kube-apiserver does with its gates for them and `--runtime-config`. `port` 0 means any free one.
    """

    def __init__(
        self,
        definitions: Iterable[Object] = (),
        *,
        sources: Generators = REAL,
        stand_ins: bool = True,
        native_groups: bool = False,
        port: int = 0,
    ) -> None:
        self.store = ObjectStore(Ledger(), sources, (*KINDS, *NATIVE_GROUP_KINDS) if native_groups else KINDS)
        self._stand_ins = stand_ins
        self._port = port
        self._exits = AsyncExitStack()
        _furnish(self.store, definitions)

    async def __aenter__(self) -> Self:
        try:
            await self._serve()
        except BaseException:
            await self._exits.aclose()
            raise
        if self._stand_ins:
            self._start(NamespaceCleaner(self.store).step)
            self._start(Kubelet(self.store).step, PODS)
            self._start(WorkloadControllers(self.store).step)
            for controller in (BudgetController, VolumeController, DeviceClaimController):
                self._start(controller(self.store).step, *controller.KINDS)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exits.aclose()

    @property
    def url(self) -> str:
        """The address of the API; known once the server has started."""
        return f"http://{HOST}:{self._port}"

    def kubeconfig(self, path: Path) -> Path:
        """Writes a kubeconfig for the sandbox, all of it at once, and returns its path. Raises OSError."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "sandbox", "cluster": {"server": self.url}}],
            "users": [{"name": "sandbox", "user": {"token": "sandbox"}}],
            "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "sandbox"}}],
            "current-context": "sandbox",
        }
        try:
            with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}-", delete=False) as written:
                yaml.safe_dump(config, written, sort_keys=False)
            Path(written.name).replace(path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
        return path

    def load(self, objects: Iterable[Object]) -> contents.Loaded:
        """Stores the objects and lists of a dump as they are."""
        return contents.load(self.store, objects)

    def nodes(self, count: int, *, shape: NodeShape = STANDARD_NODE, prefix: str = "node") -> list[str]:
        """Adds `count` synthetic nodes and returns their names."""
        nodes = synthetic_nodes(count, shape=shape, prefix=prefix, since=self.store.now)
        return [name_of(self.store.create(NODES, node).obj) for node in nodes]

    async def _serve(self) -> None:
        handler = Handler(self.store)
        server = web.Server(handler, request_factory=_request, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await runner.setup()
        self._exits.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, HOST, self._port)
        await site.start()
        self._port = runner.addresses[0][1]
        self._exits.callback(handler.close)

    def _start(self, step: Callable[[], None], *kinds: Kind) -> None:
        """Makes a step now and after every change of some kinds, or of anything, until the server stops."""
        waker = asyncio.Event()
        waker.set()
        for kind in kinds or (None,):
            self._exits.enter_context(self.store.ledger.listening(waker.set, kind))
        task = asyncio.create_task(_repeat(step, waker))
        self._exits.push_async_callback(_cancelled, task)


def _request(*parts: Any) -> web.BaseRequest:
    """A request with a higher limit to its size; aiohttp has no other way of setting it below an application."""
    message, payload, protocol, writer, task = parts
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_LIMIT)


async def _repeat(step: Callable[[], None], waker: asyncio.Event) -> None:
    while True:
        await waker.wait()
        waker.clear()
        try:
            step()
        except Exception:
            _log.exception("a stand-in of the sandbox has failed and does nothing any more")
            raise


async def _cancelled(task: asyncio.Task[None]) -> None:
    """Ends a task, and raises the exception with which it ended, if any."""
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return


def _furnish(store: ObjectStore, definitions: Iterable[Object]) -> None:
    """Makes the objects that every cluster has from the start, and the definitions of custom resources."""
    for name in _NAMESPACES:
        store.create(NAMESPACES, {"metadata": {"name": name}})
    for name, value in SYSTEM_PRIORITIES.items():
        store.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
    for definition in definitions:
        store.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
