"""Opens the port and closes it; the process starts one in its startup and stops it in its cleanup."""

from __future__ import annotations

import ssl

from aiohttp import web

DEFAULT_PORT = 10259
"""kube-scheduler's, so that scrapers find both alike."""


class Server:
    """An application listening on one address. Start and stop once each.

    Args:
        app: what to serve.
        host: address to bind; `0.0.0.0` for all.
        port: port to bind; 0 lets the system choose.
        tls: None serves plain HTTP.
    """

    def __init__(self, app: web.Application, *, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        self._host = host
        self._port = port
        self._tls = tls

    async def start(self) -> int:
        """Listens, and returns the port. Raises OSError when the address cannot be bound."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port, ssl_context=self._tls)
        await site.start()
        address = self._runner.addresses[0]
        return int(address[1])

    async def stop(self) -> None:
        """Stops listening; requests under way get a second to finish."""
        await self._runner.cleanup()
