"""The score: nodes in domains with fewer matching pods are better, and small topologies count as much as large ones.

The plugin weighs the constraints once the feasible nodes are known, and then asks for scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muster.framework.contract import MAX_NODE_SCORE, Mask, NodeView, Scores
from muster.framework.contract.columns import ABSENT, Domains

from .constraint import HOSTNAME, Constraint
from .reading import PodConstraints

_LARGEST_TABLE = 4096
"""Up to this number, scores are computed in a table and looked up for nodes; beyond it, one for each node."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A soft constraint, once the nodes that pass are known.

    Attributes:
        weight: what each pod counts for: more where there are more domains.
        sums: int64, shape (values,), the pods in each domain; None for hosts, which are counted one by one.
    """

    constraint: Constraint
    weight: float
    sums: npt.NDArray[np.int64] | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """Raw scores of some nodes. Few are different, so they are worked out once each and looked up for the nodes.

    Attributes:
        table: int64, the scores.
        places: int, shape (nodes,): where in the table each node's score is.
        ignored: bool, shape (nodes,): nodes that lack a key, and get the worst score of all; None for no such node.
    """

    table: Scores
    places: npt.NDArray[np.signedinteger[Any]]
    ignored: Mask | None

    def scores(self) -> Scores:
        """int64, shape (nodes,)."""
        return self._of_nodes(self.table)

    def normalized(self) -> Scores:
        """0 to 100: less is better, the least is 100 less what it is of the most."""
        used = np.bincount(self.places if self.ignored is None else self.places[~self.ignored])
        kept = self.table[: len(used)][used > 0]
        most = int(kept.max()) if len(kept) else 0
        if most == 0:
            return self._of_nodes(np.full(len(self.table), MAX_NODE_SCORE, np.int64))
        return self._of_nodes(MAX_NODE_SCORE * (most + int(kept.min()) - self.table) // most)

    def _of_nodes(self, table: Scores) -> Scores:
        scores = table.take(self.places)
        if self.ignored is not None:
            scores[self.ignored] = 0
        return scores


def weigh(reading: PodConstraints, nodes: NodeView) -> tuple[Weighed, ...]:
    """The soft constraints of a pod that `nodes` can run."""
    ignored = _lacking_a_key(reading, nodes)
    return tuple(_weighed(constraint, nodes, ignored, every_key=reading.every_key) for constraint in reading.soft)


def rank(reading: PodConstraints, constraints: Sequence[Weighed], nodes: NodeView) -> Ranked:
    """The raw scores of nodes that passed."""
    table, places = np.zeros(1), np.zeros(len(nodes), np.int32)
    for each in constraints:
        parts, own = _parts(each, nodes)
        if len(table) == 1:
            table, places = table[0] + parts, own
        elif len(table) * len(parts) <= _LARGEST_TABLE:
            table, places = np.add.outer(table, parts).ravel(), places * np.int32(len(parts)) + own
        else:
            table, places = table.take(places) + parts.take(own), np.arange(len(nodes), dtype=np.int32)
    whole = np.trunc(table)
    rounded = (whole + (table - whole >= 0.5)).astype(np.int64)
    return Ranked(rounded, places, _lacking_a_key(reading, nodes))


def _parts(weighed: Weighed, nodes: NodeView) -> tuple[npt.NDArray[np.floating[Any]], npt.NDArray[np.int32]]:
    """The possible parts of the score for a constraint, and the index of each node's among them; 0 without the key."""
    snapshot, rule = nodes.snapshot, weighed.constraint.rule
    column = snapshot.labels.column(rule.topology_key)
    if weighed.sums is not None:
        parts = weighed.sums * weighed.weight + (rule.max_skew - 1)
        parts[ABSENT] = 0
        return parts, nodes.of(column.ids)
    counts = nodes.of(snapshot.relations.labels.tally(weighed.constraint.question).counts)
    parts = np.arange(int(counts.max(initial=0)) + 1) * weighed.weight + (rule.max_skew - 1)
    if column.count == snapshot.node_count:
        return parts, counts
    return np.append(0, parts), np.where(nodes.of(column.ids) == ABSENT, 0, counts + 1)


def _lacking_a_key(reading: PodConstraints, nodes: NodeView) -> Mask | None:
    """bool, shape (nodes,): nodes that are left out; None where there are none."""
    snapshot = nodes.snapshot
    keys = [each.rule.topology_key for each in reading.soft]
    if not reading.every_key or all(snapshot.labels.column(key).count == snapshot.node_count for key in keys):
        return None
    lacking = np.zeros(len(nodes), np.bool_)
    for key in keys:
        lacking |= nodes.of(snapshot.labels.column(key).ids) == ABSENT
    return lacking if lacking.any() else None


def _weighed(constraint: Constraint, nodes: NodeView, ignored: Mask | None, *, every_key: bool) -> Weighed:
    """A node without the key is in the domain of the empty value, where nodes that lack a key are not left out."""
    if constraint.rule.topology_key == HOSTNAME:
        size = len(nodes) - (0 if ignored is None else int(np.count_nonzero(ignored)))
        return Weighed(constraint, math.log(size + 2), None)
    domains = constraint.domains(nodes.snapshot)
    sums, column = domains.sums, nodes.snapshot.labels.column(constraint.rule.topology_key)
    if len(nodes) == nodes.snapshot.node_count and constraint.eligible is None and ignored is None:
        present = domains.nodes > 0
        present[ABSENT] = column.count < len(nodes)
    else:
        ids = nodes.of(domains.ids)
        present = np.bincount(ids if ignored is None else ids[~ignored], minlength=len(sums)) > 0
    size = int(np.count_nonzero(present))
    empty = column.id_of("")
    if not every_key and empty > ABSENT:
        sums = sums.copy()
        sums[empty] += _nowhere(constraint, domains, nodes)
        size -= int(present[ABSENT] and present[empty])
    return Weighed(constraint, math.log(size + 2), sums)


def _nowhere(constraint: Constraint, domains: Domains, nodes: NodeView) -> int:
    """The number of pods on eligible nodes without the key."""
    snapshot = nodes.snapshot
    without = snapshot.live[: snapshot.height] & (domains.ids[: snapshot.height] == ABSENT)
    if constraint.eligible is not None:
        without &= constraint.eligible.mask()
    tally = snapshot.relations.labels.tally(constraint.question)
    return int(tally.counts[: snapshot.height][without].sum())
