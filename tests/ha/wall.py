"""A TCP proxy that does to a connection what networks do: silence, delay, cuts.

Silence is one-sided: what a client says still arrives, but it hears nothing more.
"""

import socket
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit

_CHUNK = 1 << 16


class Wall:
    """Listens on a port of its own until it is closed; `url` is its address for the clients of `server`.

    Attributes:
        delay: seconds that each piece of an answer takes longer.
    """

    def __init__(self, server: str) -> None:
        address = urlsplit(server)
        self.delay = 0.0
        self._server = (str(address.hostname), int(address.port or 0))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._silent = False
        self._refuses = False
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def silence(self) -> None:
        """From now on the server's answers go nowhere, those on new connections neither."""
        self._silent = True

    def cut(self) -> None:
        """End all connections, and every new one at once."""
        self._refuses = True
        self._end()

    def mend(self) -> None:
        """All is well again. Connections that were silent are ended: what was lost on them cannot be made good."""
        self.delay = 0.0
        if self._silent:
            self._end()
        self._silent = self._refuses = False

    def close(self) -> None:
        """End all connections, and take no new one."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._end()

    def _end(self) -> None:
        while self._sockets:
            each = self._sockets.pop()
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = None if self._refuses else socket.create_connection(self._server)
            except OSError:
                server = None
            if server is None:
                client.close()
                continue
            self._sockets += [client, server]
            threading.Thread(target=self._pour, args=(client, server), daemon=True).start()
            threading.Thread(target=self._pour, args=(server, client, True), daemon=True).start()

    def _pour(self, source: socket.socket, sink: socket.socket, answers: bool = False) -> None:
        with suppress(OSError):
            while chunk := source.recv(_CHUNK):
                if answers and self.delay:
                    time.sleep(self.delay)
                if not (answers and self._silent):
                    sink.sendall(chunk)
            sink.shutdown(socket.SHUT_WR)
