"""Placed members of a group, which restrict later members to their domains.

`DomainSearch` calls it. A pod's node is the one on which the cache counts it, else the one that its object names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..contract.status import Status
from ..contract.topology import Favour, Topology
from ..model.pod_info import PodInfo
from ..snapshot.partitions import NONE, Partition, Partitions
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import Rows
from .group_capacity import Capacities
from .slices import may_join

_UNDETERMINED = "cannot determine domain for already scheduled pods"


class PlacedMembers:
    """Finds the rows of placed members. `node_of` returns the node on which a pod, by UID, is counted."""

    def __init__(self, snapshot: Snapshot, node_of: Callable[[str], str | None], partitions: Partitions) -> None:
        self._snapshot = snapshot
        self._node_of = node_of
        self._partitions = partitions

    def within(
        self, topology: Topology, placed: Iterable[PodInfo], waiting: int, capacities: Capacities | None
    ) -> Sequence[Rows | None] | Status:
        """The domains that a later member may use: those that contain all placed members, the narrowest first.

        All but the last are preferences. None means any node; a Status means that there is no such domain. Without a
        required level, members in slices still go to parts of the whole cluster. `waiting` members are to be placed,
        with this one. `capacities`, int64 of shape (height,), has the number of such members that each row could take;
        None if no plugin counts it.
        """
        members = [*placed]
        taken = self.rows_of(topology, members)
        if isinstance(taken, Status):
            return taken
        if not len(taken):
            return [None]
        found: list[Rows | None] = []
        widest = topology.required if topology.slice_size else max(topology.required, 1)
        for depth in range(len(topology.levels), widest - 1, -1):
            partition = self._partitions.of(topology.levels[:depth])
            only = domains_at(partition, taken)
            if len(only) == 1 and NONE not in only:
                rows = partition.rows[only.pop()]
                found += self._beside_open_slices(
                    topology, partition, rows, members, waiting=waiting, capacities=capacities
                )
            elif depth == topology.required:
                return self.undetermined(partition, members)
        return found if topology.required or topology.slice_size else [*found, None]

    def _beside_open_slices(
        self,
        topology: Topology,
        partition: Partition,
        rows: Rows,
        placed: Sequence[PodInfo],
        *,
        waiting: int,
        capacities: Capacities | None,
    ) -> Sequence[Rows]:
        """The rows of a domain in parts with a slice that the member may join; all rows if no slice is incomplete.

        Slices that lack the fewest members come first.
        A member that begins a slice prefers parts with capacity for all of it, else those with the most capacity:
        the members after it have to go there, too.
        """
        size = topology.slice_size
        if not size:
            return [rows]
        parts = self._partitions.of((*partition.keys, topology.slice_level))
        on = parts.numbers[self.rows_by_pod(placed)]
        in_parts = rows[parts.numbers[rows] >= 0]
        numbers = parts.numbers[in_parts]
        of_parts = -np.bincount(on[on >= 0], minlength=len(parts)) % size
        lacking = of_parts[numbers]
        if lacking.any():
            found = in_parts[may_join(of_parts, waiting)[numbers]]
            fullest = in_parts[lacking == lacking[lacking > 0].min()]
            return [found] if len(fullest) == len(found) else [fullest, found]
        if capacities is None or not len(in_parts):
            return [in_parts]
        free = np.bincount(numbers, weights=np.minimum(capacities[in_parts], size), minlength=len(parts))
        roomy = in_parts[free[numbers] >= min(size, free.max())]
        return [in_parts] if len(roomy) == len(in_parts) else [roomy, in_parts]

    def rows_of(self, topology: Topology, placed: Sequence[PodInfo]) -> Rows | Status:
        """The rows of the nodes that these pods are on, each once; the ERROR if one of the nodes does not exist.

        The ERROR is kube-scheduler's. Groups that do not favour the placement score leave such members out of account.
        """
        rows = self.rows_by_pod(placed)
        if len(rows) == len(placed) or topology.favour is not Favour.PLACEMENT_SCORE:
            return np.unique(rows)
        pod = min((pod for pod in placed if self._row_of(pod) is None), key=lambda pod: pod.key)
        what = f'getting node for pod {pod.key}: nodeinfo not found for node name "{self._node(pod)}"'
        return Status.failure(f"{_UNDETERMINED}: {what}")

    def rows_by_pod(self, placed: Iterable[PodInfo]) -> Rows:
        """The row of each pod's node, without pods whose node does not exist."""
        return np.array([row for pod in placed if (row := self._row_of(pod)) is not None], np.intp)

    def _row_of(self, pod: PodInfo) -> int | None:
        return self._snapshot.live_row_of(self._node(pod))

    def _node(self, pod: PodInfo) -> str:
        return self._node_of(pod.uid) or pod.node_name

    def fault(self, topology: Topology, placed: Sequence[PodInfo]) -> Status | None:
        """The ERROR if these members do not determine one domain of the required levels, anywhere in the cluster."""
        taken = self.rows_of(topology, placed)
        if isinstance(taken, Status):
            return taken
        if not len(taken):
            return None
        partition = self._partitions.of(topology.levels[: topology.required])
        only = domains_at(partition, taken)
        return self.undetermined(partition, placed) if len(only) > 1 or NONE in only else None

    def undetermined(self, partition: Partition, placed: Sequence[PodInfo]) -> Status:
        """kube-scheduler's text for members that run in several domains, or in none."""
        numbers = {pod.key: int(partition.numbers[row]) for pod in placed if (row := self._row_of(pod)) is not None}
        outside = [pod for pod, number in numbers.items() if number == NONE]
        if outside:
            what = f"no topology domain found for pod {min(outside)}"
        else:
            first, second, *_ = ("/".join(partition.values[number]) for number in sorted({*numbers.values()}))
            what = f"more than 1 domain found for pod group: {first}, {second}"
        return Status.failure(f"{_UNDETERMINED}: {what}")


def domains_at(partition: Partition, taken: Rows) -> set[int]:
    """The numbers of the domains that these rows are in; `NONE` for rows in none."""
    return set(partition.numbers[taken].tolist())
