"""How well a node's storage suits a pod: by how much of it the pod's claims would use, class by class.

VolumeBinding scores by it. Existing volumes count by their size; if none is used, volumes to be created count by the
capacity that they come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from muster.framework.contract import Mask, Scores
from muster.framework.contract.arguments import UtilizationShapePoint, scores_by_percent
from muster.framework.model.claims import class_of_claim, requested_bytes

from .accessible import NONE
from .finding import FoundVolumes
from .ledger import VolumeLedger
from .unbound_volumes import Bytes


class StorageScore:
    """Scores the use of each class by a piecewise linear function, and averages the scores."""

    def __init__(self, shape: Sequence[UtilizationShapePoint], ledger: VolumeLedger) -> None:
        self._score_at = np.array(scores_by_percent(shape), np.int64)
        self._ledger = ledger

    def of(self, found: FoundVolumes, nodes: int) -> Scores:
        """int64, shape (nodes,): 0 where no storage counts. Rounded half up."""
        static: Mask = np.zeros(nodes, np.bool_)
        for choice in found.choices:
            static |= choice.found
        total, classes = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
        for use in (_of_choices(found, nodes), self._of_provisions(found, ~static)):
            for used, offered in use:
                counts = used >= 0
                total += np.where(counts, self._score(used, offered), 0)
                classes += counts
        mean: Scores = (2 * total + classes) // np.maximum(2 * classes, 1)
        return mean

    def _score(self, used: Bytes, offered: Bytes) -> Scores:
        full = (offered == 0) | (used > offered)
        percent = np.where(full, 100, used * 100 // np.maximum(offered, 1))
        return self._score_at.take(percent, mode="clip")

    def _of_provisions(self, found: FoundVolumes, free: Mask) -> Iterator[tuple[Bytes, Bytes]]:
        """For each class, bytes used and offered; -1 where it does not count. Of several claims the last one's
        capacity counts."""
        classes: dict[str, tuple[Bytes, Bytes]] = {}
        for provision in found.provisions:
            here = provision.here & free & (provision.capacities != NONE)
            if not here.any():
                continue
            name = class_of_claim(provision.claim)
            used, offered = classes.setdefault(name, _nothing(len(free)))
            _add(used, here, requested_bytes(provision.claim))
            offered[here] = self._ledger.capacities(name).free(provision.capacities[here])
        yield from classes.values()


def _of_choices(found: FoundVolumes, nodes: int) -> Iterator[tuple[Bytes, Bytes]]:
    """Bytes used and offered of existing volumes, for each class that they name."""
    classes: dict[str, tuple[Bytes, Bytes]] = {}
    for choice in found.choices:
        for name, here, capacities in choice.by_class():
            used, offered = classes.setdefault(name, _nothing(nodes))
            _add(used, here, requested_bytes(choice.claim))
            offered[here] += capacities
    yield from classes.values()


def _nothing(nodes: int) -> tuple[Bytes, Bytes]:
    return np.full(nodes, -1, np.int64), np.zeros(nodes, np.int64)


def _add(used: Bytes, here: Mask, amount: int) -> None:
    used[here] = np.maximum(used[here], 0) + amount
