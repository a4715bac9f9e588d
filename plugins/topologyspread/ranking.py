"""The score: nodes in domains with fewer pods to be spread from are better, and small topologies count for as much as
large ones.

The plugin has the constraints weighed once the nodes that pass are known, and then asks for scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from muster.framework.contract import MAX_NODE_SCORE, NodeView, Scores
from muster.framework.contract.verdicts import Mask
from muster.framework.snapshot.domains import Domains
from muster.framework.snapshot.labels import ABSENT

from .constraint import HOSTNAME, Constraint
from .reading import Reading


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
    """Raw scores of some nodes.

    Attributes:
        scores: int64, shape (nodes,).
        ignored: bool, shape (nodes,): nodes that lack a key, and get the worst score of all; None for no such node.
    """

    scores: Scores
    ignored: Mask | None

    def normalized(self) -> Scores:
        """0 to 100: less is better, the least is 100 less what it is of the most."""
        kept = self.scores if self.ignored is None else self.scores[~self.ignored]
        most = int(kept.max()) if len(kept) else 0
        if most == 0:
            scores = np.full(len(self.scores), MAX_NODE_SCORE, np.int64)
        else:
            scores = MAX_NODE_SCORE * (most + int(kept.min()) - self.scores) // most
        if self.ignored is not None:
            scores[self.ignored] = 0
        return scores


def weigh(reading: Reading, nodes: NodeView) -> tuple[Weighed, ...]:
    """The soft constraints of a pod that `nodes` can run."""
    ignored = _lacking_a_key(reading, nodes)
    return tuple(_weighed(constraint, nodes, ignored, every_key=reading.every_key) for constraint in reading.soft)


def rank(reading: Reading, constraints: Sequence[Weighed], nodes: NodeView) -> Ranked:
    """The raw scores of nodes that passed."""
    snapshot = nodes.snapshot
    ignored = _lacking_a_key(reading, nodes)
    total = np.zeros(len(nodes))
    for each in constraints:
        rule = each.constraint.rule
        ids = nodes.of(snapshot.labels.column(rule.topology_key).ids)
        if each.sums is None:
            counts = nodes.of(snapshot.relations.labels.tally(each.constraint.question).counts)
            part = counts * each.weight + (rule.max_skew - 1)
            part[ids == ABSENT] = 0
        else:
            by_domain = each.sums * each.weight + (rule.max_skew - 1)
            by_domain[ABSENT] = 0
            part = by_domain.take(ids)
        total += part
    if ignored is not None:
        total[ignored] = 0
    whole = np.trunc(total)
    return Ranked((whole + (total - whole >= 0.5)).astype(np.int64), ignored)


def _lacking_a_key(reading: Reading, nodes: NodeView) -> Mask | None:
    """bool, shape (nodes,): nodes that are left out; None where there are none."""
    if not reading.every_key:
        return None
    lacking = np.zeros(len(nodes), np.bool_)
    for each in reading.soft:
        lacking |= nodes.of(nodes.snapshot.labels.column(each.rule.topology_key).ids) == ABSENT
    return lacking if lacking.any() else None


def _weighed(constraint: Constraint, nodes: NodeView, ignored: Mask | None, *, every_key: bool) -> Weighed:
    """A node without the key is in the domain of the empty value, where nodes that lack a key are not left out."""
    if constraint.rule.topology_key == HOSTNAME:
        size = len(nodes) - (0 if ignored is None else int(np.count_nonzero(ignored)))
        return Weighed(constraint, math.log(size + 2), None)
    domains = constraint.domains(nodes.snapshot)
    ids, sums = nodes.of(domains.ids), domains.sums
    present = np.bincount(ids if ignored is None else ids[~ignored], minlength=len(sums)) > 0
    size = int(np.count_nonzero(present))
    empty = nodes.snapshot.labels.column(constraint.rule.topology_key).id_of("")
    if not every_key and empty > ABSENT:
        sums = sums.copy()
        sums[empty] += _nowhere(constraint, domains, nodes)
        size -= int(present[ABSENT] and present[empty])
    return Weighed(constraint, math.log(size + 2), sums)


def _nowhere(constraint: Constraint, domains: Domains, nodes: NodeView) -> int:
    """How many pods are on eligible nodes without the key."""
    snapshot = nodes.snapshot
    without = snapshot.live[: snapshot.height] & (domains.ids[: snapshot.height] == ABSENT)
    if constraint.eligible is not None:
        without &= constraint.eligible.mask()
    tally = snapshot.relations.labels.tally(constraint.question)
    return int(tally.counts[: snapshot.height][without].sum())
