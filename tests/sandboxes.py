"""An embedded cluster that another process, or a command, may ask, served from a thread of the test."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from muster.sandbox import Sandbox


@contextmanager
def served(sandbox: Sandbox, objects: Iterable[Mapping[str, Any]], folder: Path) -> Iterator[Path]:
    """The sandbox with these objects while the block lasts; the kubeconfig for it is written to the folder."""
    ready, over = Event(), Event()

    async def serve() -> None:
        async with sandbox:
            for each in objects:
                kind = sandbox.store.kinds.by_type(each["apiVersion"], each["kind"])
                assert kind is not None
                namespace = each["metadata"].get("namespace", "default")
                sandbox.store.create(kind, dict(each), namespace=namespace)
            sandbox.kubeconfig(folder / "kubeconfig")
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
