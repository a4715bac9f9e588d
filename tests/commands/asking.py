"""An embedded cluster in a thread of its own, and commands asked of it."""

import asyncio
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from click.testing import CliRunner, Result

from muster.operator.cli import main
from muster.sandbox import Sandbox

MUSTER = Path(sys.executable).with_name("muster")


@contextmanager
def served(sandbox: Sandbox, objects: Iterable[Mapping[str, Any]], folder: Path) -> Iterator[Path]:
    """The sandbox with these objects while the block lasts; the kubeconfig for it is written to the folder."""
    ready, over = Event(), Event()

    async def serve() -> None:
        async with sandbox:
            for each in objects:
                kind = sandbox.store.kinds.by_type(each["apiVersion"], each["kind"])
                assert kind is not None
                sandbox.store.create(kind, dict(each), namespace="default")
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


def kubectl(kubeconfig: Path, *words: str) -> None:
    """Run kubectl on it."""
    subprocess.run(["kubectl", "--kubeconfig", str(kubeconfig), *words], check=True, stdout=subprocess.DEVNULL)


def ask(*words: str) -> Result:
    """Run a command of Muster's."""
    return CliRunner().invoke(main, list(words), catch_exceptions=False)
