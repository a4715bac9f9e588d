"""A TCP proxy that can stop letting answers through: what a client says still arrives, but it hears nothing more."""

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

_CHUNK = 1 << 16


class Wall:
    """Listens on a port of its own until it is closed; `url` is its address for the clients of `server`."""

    def __init__(self, server: str) -> None:
        address = urlsplit(server)
        self._server = (str(address.hostname), int(address.port or 0))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._listener]
        self._silent = threading.Event()
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def silence(self) -> None:
        """From now on the server's answers go nowhere."""
        self._silent.set()

    def close(self) -> None:
        """End all connections."""
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._sockets += [client, server]
                for source, sink, muted in ((client, server, None), (server, client, self._silent)):
                    threading.Thread(target=_pour, args=(source, sink, muted), daemon=True).start()


def _pour(source: socket.socket, sink: socket.socket, muted: threading.Event | None) -> None:
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            if muted is None or not muted.is_set():
                sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)
