"""Tables of what nodes have besides resources and labels: host ports that pods claim, taints, and container images.

The snapshot writes these tables; NodePorts, TaintToleration and ImageLocality read them. Each table is indexed by what
plugins look for (a port, a set of taints, an image), so a question costs as much as it finds, not a look at every node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

import numpy as np

from ..model.node import ContainerImage, Taint
from ..model.pod_info import HostPort

ANY_ADDRESS = "0.0.0.0"


class PortTable:
    """Counts of claims by (protocol, port), row and address. Two pods may claim the same port on one node: the API
    allows pods to be bound by hand, and each must be given back on its own. In a trial it is not so, see `try_`."""

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
            self._claims[protocol, port][row][ip] -= 1
            self._drop_empty(protocol, port, row, ip)

    def try_(self, row: int, ports: Iterable[HostPort], *, claimed: bool) -> list[tuple[HostPort, int]]:
        """Claim `ports` on `row`, or release them, whatever other claims there are; returns what `restore` puts back.

        So does kube-scheduler's NodeInfo.UsedPorts, a set: what a victim had is free, though another pod has it too.
        """
        before = [(port, self._count(row, port)) for port in ports]
        self.restore(row, [(port, int(claimed)) for port, _ in before])
        return before

    def restore(self, row: int, counts: Iterable[tuple[HostPort, int]]) -> None:
        """From now on pods on `row` claim these ports so many times."""
        for (ip, protocol, port), count in counts:
            rows = self._claims.setdefault((protocol, port), {})
            by_address = rows.setdefault(row, {})
            by_address[ip] = count
            self._drop_empty(protocol, port, row, ip)

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

    def _count(self, row: int, port: HostPort) -> int:
        return self._claims.get((port.protocol, port.port), {}).get(row, {}).get(port.ip, 0)

    def _drop_empty(self, protocol: str, port: int, row: int, ip: str) -> None:
        rows = self._claims[protocol, port]
        by_address = rows[row]
        if not by_address[ip]:
            del by_address[ip]
        if not by_address:
            del rows[row]
        if not rows:
            del self._claims[protocol, port]


TaintSet = tuple[Taint, ...]


class TaintColumn:
    """The taints of all rows.

    Attributes:
        ids: int32, shape (capacity,): an index into `sets`; 0 is the empty set.
        sets: the distinct taint sets in use or lately used.
        epoch: grows when the sets are numbered afresh; until then each keeps its index.
    """

    __slots__ = ("_id_of", "epoch", "ids", "sets")

    def __init__(self, capacity: int) -> None:
        self.ids = np.zeros(capacity, np.int32)
        self.sets: list[TaintSet] = [()]
        self.epoch = 0
        self._id_of: dict[TaintSet, int] = {(): 0}

    def set(self, row: int, taints: TaintSet) -> None:
        """The node in `row` now has exactly these taints."""
        if len(self.sets) > 2 * len(self.ids) + 1:
            self._forget_unused()
        known = self._id_of.get(taints)
        if known is None:
            known = self._id_of[taints] = len(self.sets)
            self.sets.append(taints)
        self.ids[row] = known

    def grow(self, capacity: int) -> None:
        """Grow the columns to `capacity` rows."""
        self.ids = np.concatenate([self.ids, np.zeros(capacity - len(self.ids), np.int32)])

    def _forget_unused(self) -> None:
        """Number the sets in use afresh: a cluster autoscaler writes the time into a taint, again and again."""
        used, ids = np.unique(self.ids, return_inverse=True)
        kept = [self.sets[number] for number in used.tolist()]
        if used[0] != 0:
            kept.insert(0, ())
            ids += 1
        self.ids = ids.astype(np.int32)
        self.sets = kept
        self._id_of = {taints: number for number, taints in enumerate(kept)}
        self.epoch += 1


class ImageTable:
    """Images by name.

    Attributes:
        version: changes whenever any image appears on or leaves a node.
    """

    __slots__ = ("_of_row", "_rows", "_size", "version")

    def __init__(self) -> None:
        self._rows: dict[str, set[int]] = {}
        self._size: dict[str, int] = {}
        self._of_row: dict[int, dict[str, int]] = {}
        self.version = 0

    def set(self, row: int, images: Iterable[ContainerImage]) -> None:
        """The node in `row` now has exactly these images."""
        current: dict[str, int] = {}
        for image in images:
            for name in image.names or ():
                current.setdefault(name, image.size_bytes)
        previous = self._of_row.get(row, {})
        if current == previous:
            return
        self.version += 1
        for name in previous:
            rows = self._rows[name]
            rows.discard(row)
            if not rows:
                del self._rows[name], self._size[name]
        for name, size in current.items():
            self._rows.setdefault(name, set()).add(row)
            self._size.setdefault(name, size)
        if current:
            self._of_row[row] = current
        else:
            self._of_row.pop(row, None)

    def names(self) -> Iterable[str]:
        """Every image that a node has."""
        return self._rows.keys()

    def holders(self, name: str) -> AbstractSet[int]:
        """Rows that have the image."""
        return self._rows.get(name, set())

    def size(self, name: str) -> int:
        """Bytes of the image as the first of its holders reported it, as in kube-scheduler; 0 when no node has it."""
        return self._size.get(name, 0)
