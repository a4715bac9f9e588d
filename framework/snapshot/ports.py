"""Host ports in use, by port: which rows have it, on which addresses, how often."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..model.pod_info import HostPort

ANY_ADDRESS = "0.0.0.0"


class PortTable:
    """Counts of claims by (protocol, port), row and address. Two pods may claim the same port on one node: the API
    allows pods to be bound by hand, and each must be given back on its own."""

    __slots__ = ("_claims",)

    def __init__(self) -> None:
        self._claims: dict[tuple[str, int], dict[int, dict[str, int]]] = {}

    def add(self, row: int, ports: Iterable[HostPort]) -> None:
        """Pods on `row` claim `ports` once more."""
        for ip, protocol, port in ports:
            by_address = self._claims.setdefault((protocol, port), {}).setdefault(row, {})
            by_address[ip] = by_address.get(ip, 0) + 1

    def remove(self, row: int, ports: Iterable[HostPort]) -> None:
        """Pods on `row` claim `ports` once less."""
        for ip, protocol, port in ports:
            rows = self._claims[protocol, port]
            by_address = rows[row]
            by_address[ip] -= 1
            if not by_address[ip]:
                del by_address[ip]
            if not by_address:
                del rows[row]
            if not rows:
                del self._claims[protocol, port]

    def conflicting_rows(self, wanted: HostPort, among: Iterable[int] | None = None) -> list[int]:
        """Rows, of `among` if given, on which `wanted` cannot be claimed.

        A claim is in the way if it is for the same port on the same address, or if either address is 0.0.0.0.
        """
        claimed = self._claims.get((wanted.protocol, wanted.port), {})
        rows = claimed if among is None else [row for row in among if row in claimed]
        if wanted.ip == ANY_ADDRESS:
            return list(rows)
        return [row for row in rows if wanted.ip in claimed[row] or ANY_ADDRESS in claimed[row]]

    def claims(self) -> Mapping[tuple[str, int], Mapping[int, Mapping[str, int]]]:
        """Everything, for the self-check."""
        return self._claims
