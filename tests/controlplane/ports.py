"""Finds free TCP ports on the loopback address for servers that cannot be told to choose one.

A port is free until its server takes it, a moment after it was found. So that nobody else finds it meanwhile, each of
the processes that share tests out (pytest-xdist's workers) looks among ports of its own.
"""

import os
import random
import socket

# Below the range that the kernel takes the ports of outgoing connections from, so none of those can be in the way.
FIRST_PORT, LAST_PORT = 20_000, 31_999
_random = random.SystemRandom()
"""Not the random numbers of tests, which hypothesis begins anew for each example: workers would find the same ports."""


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on at this moment."""
    ports = own_ports(
        os.environ.get("PYTEST_XDIST_WORKER", "gw0"), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    )
    while True:
        port = _random.choice(ports)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def own_ports(worker: str, workers: int) -> range:
    """The ports of one of so many workers, which are called gw0, gw1 and so on."""
    return range(FIRST_PORT + int(worker.removeprefix("gw")) % workers, LAST_PORT + 1, workers)
