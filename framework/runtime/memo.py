"""What the filter and score phases keep from pod to pod, by pod signature.

Equal pods share a `PodSignature`, so the second of them costs only the rows that changed since the first. A plugin
takes part by declaring that it depends on less than the cluster.
"""

from __future__ import annotations

from weakref import ref

import numpy as np
from cachetools import LRUCache

from ..contract.verdicts import StatusTable
from ..model.pod_info import PodSignature
from ..snapshot.journal import DependsOn, Journal
from ..snapshot.snapshot import Snapshot
from .kept import KeptColumn
from .passing import Passing
from .ranking import Ranking


class SignatureMemo:
    """What is kept for one signature.

    Attributes:
        codes: verdicts by plugin name.
        tables: what the verdicts mean, by plugin name.
        scores: raw scores by plugin name.
        passing: joint verdicts, by the names of the plugins that were asked.
        ranking: the weighted scores of the last ranking, with the names of the plugins behind it.
    """

    __slots__ = ("codes", "passing", "ranking", "scores", "tables")

    def __init__(self) -> None:
        self.codes: dict[str, KeptColumn] = {}
        self.tables: dict[str, StatusTable] = {}
        self.scores: dict[str, KeptColumn] = {}
        self.passing: dict[tuple[str, ...], Passing] = {}
        self.ranking: Ranking | None = None


class Memo:
    """What is kept for the signatures seen last, for one profile. A signature that no pod has is forgotten at once."""

    def __init__(self, snapshot: Snapshot, *, signatures: int = 128) -> None:
        self._snapshot = snapshot
        self._by_signature: LRUCache[ref[PodSignature], SignatureMemo] = LRUCache(signatures)

    def of(self, signature: PodSignature) -> SignatureMemo:
        """What is kept for `signature`, nothing at first."""
        memo = self._by_signature.get(ref(signature))
        if memo is None:
            memo = self._by_signature[ref(signature, self._forget)] = SignatureMemo()
        return memo

    def _forget(self, gone: ref[PodSignature]) -> None:
        self._by_signature.pop(gone, None)

    def journal(self, depends_on: DependsOn) -> Journal:
        """Where changes that matter to `depends_on` are written."""
        return self._snapshot.node_journal if depends_on is DependsOn.NODE else self._snapshot.usage_journal


def kept(columns: dict[str, KeptColumn], name: str, dtype: type[np.generic]) -> KeptColumn:
    """The column of plugin `name`, made when it is asked for first."""
    column = columns.get(name)
    if column is None:
        column = columns[name] = KeptColumn(dtype)
    return column
