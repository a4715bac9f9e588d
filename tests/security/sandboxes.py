"""An embedded cluster that another process may ask, served from a thread of the test."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from muster.sandbox import Sandbox
from muster.sandbox.contents import NodeShape
from muster.sandbox.kinds import PODS
from tests.builders import PodDict


@contextmanager
def serving(folder: Path, *, nodes: int, shape: NodeShape, pods: Sequence[PodDict]) -> Iterator[Path]:
    """A kubeconfig for a cluster with these nodes and pods, on which nothing happens by itself."""
    ready, over = Event(), Event()

    async def serve() -> None:
        sandbox = Sandbox(stand_ins=False)
        sandbox.nodes(nodes, shape=shape)
        async with sandbox:
            sandbox.kubeconfig(folder / "kubeconfig")
            for pod in pods:
                sandbox.store.create(PODS, dict(pod), namespace="default")
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(30)
        yield folder / "kubeconfig"
    finally:
        over.set()
        thread.join()
