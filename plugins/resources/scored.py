"""The resources that score pods of one signature, and their use on nodes as NodeResourcesFit counts it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from muster.framework.contract import NodeView, Partition, SnapshotReader
from muster.framework.contract.arguments import ResourceSpec
from muster.framework.contract.columns import Amounts, ResourceColumns

from .names import STANDARD, is_scalar
from .selection import pick, select


class ScoredResource(NamedTuple):
    """A resource, how much of it the pod asks for, and its weight in the score."""

    name: str
    amount: int
    weight: int


class Share(NamedTuple):
    """A resource of one node with the pod on it: what is used of what is offered, and its weight in the score."""

    used: int
    offered: int
    weight: int


_SMALL = 2**56
"""A hundred times as much is no more than int64 holds."""


def scored_resources(configured: Iterable[ResourceSpec], requests: Mapping[str, int]) -> Iterator[ScoredResource]:
    """In the order of the configuration. Scalar resources count only if the pod asks for them."""
    for spec in configured:
        amount = requests.get(spec.name, 0)
        if spec.name in STANDARD or (amount and is_scalar(spec.name)):
            yield ScoredResource(spec.name, amount, spec.weight)


class ScoredUse:
    """Use and offer of the scored resources that nodes offer, in the order of the resource columns.

    Of cpu and memory, containers that ask for none count as asking for a little.

    Attributes:
        weights: int64, shape (resources,); as of the last `on`.
    """

    __slots__ = ("_amounts", "_defaulted", "_layout", "_offered", "_ordered", "_plain", "_resources", "weights")

    def __init__(self, resources: Iterable[ScoredResource]) -> None:
        self._resources = tuple(resources)
        self._layout = -1

    def on(self, nodes: NodeView) -> tuple[Amounts, Amounts]:
        """`(used, offered)`, both int64 of shape (resources, nodes), with the pod on each node."""
        used, offered = self.without(nodes)
        return used + self._amounts, offered

    def on_one(self, nodes: NodeView) -> Sequence[Share] | None:
        """The shares of a view of one node; None for amounts so large that sums or products overflow."""
        columns = nodes.snapshot.resources
        if columns.layout != self._layout:
            self._arrange(columns)
        row = 0 if nodes.rows is None else int(nodes.rows[0])
        shares: list[Share] = []
        for index, amount, weight in self._ordered:
            column = columns.nonzero if index < len(columns.nonzero) else columns.requested
            used, offered = int(column[index, row]) + amount, int(columns.allocatable[index, row])
            if not 0 <= used <= _SMALL or offered > _SMALL:
                return None
            shares.append(Share(used, offered, weight))
        return shares

    def in_domains(self, domains: Partition, snapshot: SnapshotReader) -> tuple[Amounts, Amounts]:
        """`(used, offered)` of the nodes of each domain together, with the pod in it: shape (resources, domains).

        As in kube-scheduler, what is used on a node that offers none of the resource does not count.
        """
        used, offered = self.without(NodeView(snapshot, None))
        return domains.sums(np.where(offered, used, 0)) + self._amounts, domains.sums(offered)

    def without(self, nodes: NodeView) -> tuple[Amounts, Amounts]:
        """`(used, offered)` as things are, without the pod."""
        columns = nodes.snapshot.resources
        if columns.layout != self._layout:
            self._arrange(columns)
        used = pick(columns.nonzero, self._defaulted, nodes)
        if self._plain is not None:
            used = np.concatenate([used, pick(columns.requested, self._plain, nodes)])
        return used, pick(columns.allocatable, self._offered, nodes)

    def _arrange(self, columns: ResourceColumns) -> None:
        offered = ((columns.index(resource.name), resource) for resource in self._resources)
        ordered = sorted((index, resource) for index, resource in offered if index is not None)
        indices = [index for index, _ in ordered]
        defaulted = [index for index in indices if index < len(columns.nonzero)]
        plain = indices[len(defaulted) :]
        self._layout = columns.layout
        self._defaulted = select(defaulted)
        self._plain = select(plain) if plain else None
        self._offered = select(indices)
        self._ordered = [(index, resource.amount, resource.weight) for index, resource in ordered]
        self._amounts = np.array([resource.amount for _, resource in ordered], np.int64).reshape(-1, 1)
        self.weights: Amounts = np.array([resource.weight for _, resource in ordered], np.int64)
