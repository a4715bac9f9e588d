"""Finds free TCP ports on the loopback address for servers that cannot be told to choose one."""

import random
import socket

# Below the range that the kernel takes the ports of outgoing connections from, so none of those can be in the way.
FIRST_PORT, LAST_PORT = 20_000, 31_999


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on at this moment."""
    while True:
        port = random.randint(FIRST_PORT, LAST_PORT)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
