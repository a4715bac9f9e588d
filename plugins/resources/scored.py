"""The resources that score pods of one signature, and their use on nodes as NodeResourcesFit sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from muster.framework.config.args import ResourceSpec
from muster.framework.contract import NodeView
from muster.framework.snapshot.resources import Amounts, ResourceColumns

from .names import STANDARD, is_scalar
from .selection import pick, select


class ScoredResource(NamedTuple):
    """A resource, how much of it the pod asks for, and its weight in the score."""

    name: str
    amount: int
    weight: int


def scored_resources(configured: Iterable[ResourceSpec], requests: Mapping[str, int]) -> Iterator[ScoredResource]:
    """In the order of the configuration. Scalar resources count only if the pod asks for them."""
    for spec in configured:
        amount = requests.get(spec.name, 0)
        if spec.name in STANDARD or (amount and is_scalar(spec.name)):
            yield ScoredResource(spec.name, amount, spec.weight)


class ScoredUse:
    """Use and offer of the scored resources, in the order of the resource columns.

    Of cpu and memory, containers that ask for none count as asking for a little.

    Attributes:
        weights: int64, shape (resources,).
    """

    __slots__ = ("_amounts", "_columns", "_defaulted", "_offered", "_plain", "weights")

    def __init__(self, resources: Iterable[ScoredResource], columns: ResourceColumns) -> None:
        ordered = sorted(resources, key=lambda resource: columns.index(resource.name))
        indices = [columns.index(resource.name) for resource in ordered]
        defaulted = [index for index in indices if index < len(columns.nonzero)]
        plain = indices[len(defaulted) :]
        self._columns = columns
        self._defaulted = select(defaulted)
        self._plain = select(plain) if plain else None
        self._offered = select(indices)
        self._amounts = np.array([resource.amount for resource in ordered], np.int64).reshape(-1, 1)
        self.weights: Amounts = np.array([resource.weight for resource in ordered], np.int64)

    def on(self, nodes: NodeView) -> tuple[Amounts, Amounts]:
        """`(used, offered)`, both int64 of shape (resources, nodes), with the pod on each node."""
        used = pick(self._columns.nonzero, self._defaulted, nodes)
        if self._plain is not None:
            used = np.concatenate([used, pick(self._columns.requested, self._plain, nodes)])
        return used + self._amounts, pick(self._columns.allocatable, self._offered, nodes)
