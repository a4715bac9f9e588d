"""Opens the port and closes it; the process starts one in its startup and stops it in its cleanup."""

from __future__ import annotations

import os
import ssl

from aiohttp import web

DEFAULT_PORT = 10259
"""kube-scheduler's, so that scrapers find both alike."""


class ListenError(Exception):
    """An address cannot be listened on; the message names it and says why."""


class Server:
    """An application listening on one address. Start and stop once each.

    Args:
        app: what to serve.
        host: IP address to bind; `0.0.0.0` for all.
        port: port to bind; 0 lets the system choose.
        tls: None serves plain HTTP.
    """

    def __init__(self, app: web.Application, *, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        self._host = host
        self._port = port
        self._tls = tls

    async def start(self) -> int:
        """Listens, and returns the port. Raises ListenError."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port, ssl_context=self._tls)
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            where = f"{self._host}:{self._port}"
            reason = os.strerror(error.errno or 0)
            raise ListenError(f"failed to create listener: failed to listen on {where}: {reason}") from error
        address = self._runner.addresses[0]
        return int(address[1])

    async def stop(self) -> None:
        """Stops listening; requests under way get a second to finish."""
        await self._runner.cleanup()
