"""The pages that a side serves about itself: whether it is ready, and its metrics.

kube-scheduler serves them over TLS, with a certificate that it makes for itself, to those who may read them; Muster is
started so that it serves them to everyone.
"""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Self

import aiohttp
import yaml

from bench.client import RefusedError
from tests.controlplane.commands import HOST
from tests.controlplane.plane import ControlPlane
from tests.controlplane.server import Server

_PORT, _PLAIN = "--secure-port=", "--plain-http"
_LOOK_SECONDS = 0.1
_READY_WITHIN_SECONDS = 60.0


class SidePages:
    """The pages of a side that runs, read as the administrator."""

    def __init__(self, address: str, token: str, certificate: Path | None) -> None:
        """`certificate` is the side's own; None for a side without TLS."""
        self._address = address
        self._headers = {"Authorization": f"Bearer {token}"}
        self._certificate = certificate

    @classmethod
    def of(cls, server: Server, plane: ControlPlane) -> Self:
        """The pages of a process, whose command line says where they are."""
        [port] = (each.removeprefix(_PORT) for each in server.command if each.startswith(_PORT))
        plain = _PLAIN in server.command
        token = yaml.safe_load(plane.kubeconfig().read_text())["users"][0]["user"]["token"]
        certificate = None if plain else plane.files.certificate(server.name)
        return cls(f"{'http' if plain else 'https'}://{HOST}:{port}", token, certificate)

    async def read(self, path: str) -> str:
        """A page. Raises `RefusedError`, and `aiohttp.ClientError` while nothing is served."""
        trust = True if self._certificate is None else ssl.create_default_context(cafile=str(self._certificate))
        async with (
            aiohttp.ClientSession(headers=self._headers) as session,
            session.get(self._address + path, ssl=trust) as answer,
        ):
            text = await answer.text()
            if not answer.ok:
                raise RefusedError(f"GET {path}: {answer.status} {text}", answer.status)
            return text

    async def until_ready(self, is_alive: Callable[[], bool]) -> None:
        """Returns when the side calls itself ready. Raises `TimeoutError` after a minute, and when it ends before."""
        async with asyncio.timeout(_READY_WITHIN_SECONDS):
            while not await self._is_ready():
                if not is_alive():
                    raise TimeoutError("the side ended before it was ready")
                await asyncio.sleep(_LOOK_SECONDS)

    async def _is_ready(self) -> bool:
        try:
            await self.read("/readyz")
        except (RefusedError, aiohttp.ClientError, FileNotFoundError, ssl.SSLError):
            return False
        return True
