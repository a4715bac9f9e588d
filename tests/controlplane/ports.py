"""Finds free TCP ports on the loopback address for servers that cannot be told to choose one.

A port is free until its server takes it, a moment after it was found. So that nobody else finds it meanwhile, each of
the processes that share tests out (pytest-xdist's workers) looks among ports of its own, and gives none again before
it has given all of them.
"""

import os
import random
import socket
from collections.abc import Iterator
from functools import cache
from itertools import cycle

# Below the range that the kernel takes the ports of outgoing connections from, so none of those can be in the way.
FIRST_PORT, LAST_PORT = 20_000, 31_999
_random = random.SystemRandom()
"""Not the random numbers of tests, which hypothesis begins anew for each example: workers would find the same ports."""


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on at this moment."""
    worker, workers = os.environ.get("PYTEST_XDIST_WORKER", "gw0"), os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
    return next(filter(_is_free, _shuffled(own_ports(worker, int(workers)))))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@cache
def _shuffled(ports: range) -> Iterator[int]:
    """These ports in random order, again and again; each caller continues where the last one stopped."""
    return cycle(_random.sample(ports, len(ports)))


def own_ports(worker: str, workers: int) -> range:
    """The ports of one of so many workers, which are called gw0, gw1 and so on."""
    return range(FIRST_PORT + int(worker.removeprefix("gw")) % workers, LAST_PORT + 1, workers)
