"""A proxy for the wire's tests."""

import asyncio
from typing import Self


class TunnelProxy:
    """A proxy that opens one tunnel to wherever it is asked to, and remembers how it was asked."""

    def __init__(self) -> None:
        self.asked = b""
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._tunnel, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked = await reader.readuntil(b"\r\n\r\n")
        host, _, port = self.asked.split()[1].decode().partition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(self._copy(reader, far_writer), self._copy(far_reader, writer))

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()
        await writer.wait_closed()
