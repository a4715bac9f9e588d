"""The connections of a server, and the choice of one to close when a new one arrives.

Every client that reaches the port may open connections, so their number is bounded: in total, per address, and during
the handshake, which costs more than the requests. A new connection is never rejected: when a bound is reached, the
longest idle connection is closed, of the address with the most connections. So a probe is answered while another client
keeps hundreds of connections open, and no request in progress is cut off.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

_IPV6_SITE_BITS = 64
"""The prefix length of IPv6 addresses that count as one, because a client has a whole network of them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of connections.

    Attributes:
        total: the most connections.
        per_address: the most from one IPv4 address or one IPv6 network of 64 bits.
        handshakes: the most that have not ended their TLS handshake.
    """

    total: int = 96
    per_address: int = 32
    handshakes: int = 24


class ConnectionState(Enum):
    """The stage of a connection."""

    HANDSHAKE = "its TLS handshake has not ended"
    IDLE = "its next request has not come as a whole"
    SERVED = "a request of it is being answered"


@dataclass(slots=True, eq=False)
class OpenConnection:
    """A connection. `end` cuts it off; it may be called more than once."""

    address: str
    end: Callable[[], None]
    stage: ConnectionState = ConnectionState.HANDSHAKE


class Connections:
    """The connections of a server, the longest idle ones first."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._entries: dict[OpenConnection, None] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def admit(self, host: str, end: Callable[[], None]) -> OpenConnection | None:
        """Register a connection from this host, and end an idle one if necessary; None if all others are served."""
        entry = OpenConnection(_address(host), end)
        same = [other for other in self._entries if other.address == entry.address]
        if len(same) >= self._limits.per_address and not self._end_one(same):
            return None
        shaking = [other for other in self._entries if other.stage is ConnectionState.HANDSHAKE]
        if len(shaking) >= self._limits.handshakes:
            self._end_one(shaking)
        if len(self._entries) >= self._limits.total and not self._end_one(self._entries):
            return None
        self._entries[entry] = None
        return entry

    def move(self, entry: OpenConnection, stage: ConnectionState) -> None:
        """Move a connection to another stage, as the last one in it."""
        entry.stage = stage
        if entry in self._entries:
            del self._entries[entry]
            self._entries[entry] = None

    def leave(self, entry: OpenConnection) -> None:
        """Remove a closed connection. Further calls change nothing."""
        self._entries.pop(entry, None)

    def end_all(self) -> None:
        """Close all connections at once."""
        for entry in tuple(self._entries):
            self.leave(entry)
            entry.end()

    def _end_one(self, candidates: Iterable[OpenConnection]) -> bool:
        """End a connection that is not served: the longest idle one of the address with the most connections."""
        held = Counter(entry.address for entry in self._entries)
        idle = (entry for entry in candidates if entry.stage is not ConnectionState.SERVED)
        victim = max(idle, key=lambda entry: held[entry.address], default=None)
        if victim is None:
            return False
        self.leave(victim)
        victim.end()
        return True


def _address(host: str) -> str:
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, _IPV6_SITE_BITS), strict=False))
    return str(address)
