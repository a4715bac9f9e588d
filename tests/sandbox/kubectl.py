"""Runs the machine's kubectl beside the event loop that the sandbox runs on."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.controlplane.binaries import locate_kubectl

SECONDS = 60


class KubectlError(RuntimeError):
    """kubectl ended with an error; the text is what it said."""


class Kubectl:
    """Call it with arguments; it returns what kubectl printed, or raises `KubectlError`."""

    def __init__(self, kubeconfig: Path, cache: Path) -> None:
        self._command = [str(locate_kubectl()), f"--kubeconfig={kubeconfig}", f"--cache-dir={cache}"]

    async def __call__(self, *arguments: str, stdin: str = "") -> str:
        process = await self._start(arguments)
        async with asyncio.timeout(SECONDS):
            out, err = await process.communicate(stdin.encode())
        if process.returncode:
            raise KubectlError(err.decode())
        return out.decode()

    async def apply(self, *objects: Mapping[str, Any], options: tuple[str, ...] = ()) -> list[str]:
        """Applies objects and returns the lines that kubectl printed."""
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        return (await self("apply", *options, "-f", "-", stdin=json.dumps(listed))).splitlines()

    async def table(self, *arguments: str) -> list[list[str]]:
        """The rows that `kubectl get` prints, the header among them, cut at runs of two spaces or more."""
        out = await self("get", *arguments)
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in out.splitlines()]

    @asynccontextmanager
    async def watching(self, *arguments: str) -> AsyncIterator[asyncio.StreamReader]:
        """`kubectl get ... -w` for as long as the context lasts; what it prints can be read line by line."""
        process = await self._start(("get", *arguments, "--watch"))
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.terminate()
            await process.communicate()

    async def _start(self, arguments: tuple[str, ...]) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(*self._command, *arguments, stdin=pipe, stdout=pipe, stderr=pipe)


async def line(output: asyncio.StreamReader) -> list[str]:
    """The words of the next line."""
    async with asyncio.timeout(SECONDS):
        return (await output.readline()).decode().split()
