"""Which nodes reject a pod because of the pods nominated to them, cached by pod signature.

If thousands of pods wait for capacity that is being freed, each would be tried together with hundreds of nominated
pods. `Filtering` asks here first. A cached result about a node is valid while the node's object, the pods on it and the
nominated pods that count against this pod stay the same. The cache must not be used if a filter's verdict about one
node depends on others.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from ..contract.verdicts import NodeRejection
from ..model.latest_signatures import LatestSignatures
from ..model.node import Node
from ..model.pod_info import PodInfo, PodSignature
from ..snapshot.snapshot import Snapshot

_SIGNATURES = 32


class _Seen(NamedTuple):
    node: Node | None
    pods: Mapping[str, PodInfo]
    nominated: Sequence[PodInfo]
    rejection: NodeRejection | None


class NominatedResults:
    """The cached results for pods of one signature, by row."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}

    def holds(self, snapshot: Snapshot, row: int, nominated: Sequence[PodInfo]) -> bool:
        """Whether a result is cached for the row as it is now and these nominated pods."""
        seen = self._seen.get(row)
        return (
            seen is not None
            and seen.node is snapshot.nodes[row]
            and seen.nominated == nominated
            and seen.pods == snapshot.pods[row]
        )

    def keep(self, snapshot: Snapshot, row: int, nominated: Sequence[PodInfo], rejection: NodeRejection | None) -> None:
        """Keep the result for the row as it is now; None for a node that passed."""
        self._seen[row] = _Seen(snapshot.nodes[row], dict(snapshot.pods[row]), nominated, rejection)

    def rejection(self, row: int) -> NodeRejection | None:
        """The cached rejection of the row; None if it passed. Only for a row that `holds`."""
        return self._seen[row].rejection


class NominatedCache:
    """The results of one profile for the pod signatures used last; those of a signature that no pod has are dropped."""

    def __init__(self) -> None:
        self._by_signature: LatestSignatures[_OfSignature] = LatestSignatures(_SIGNATURES)

    def of(self, signature: PodSignature, skipped: frozenset[str], epoch: Hashable) -> NominatedResults:
        """The results for this signature from the plugins that are not `skipped`, in this epoch.

        Other plugins or another epoch replace the results that were kept for the signature.
        """
        known = self._by_signature.get(signature)
        if known is None or known.asked != (skipped, epoch):
            known = self._by_signature.put(signature, _OfSignature((skipped, epoch), NominatedResults()))
        return known.results


class _OfSignature(NamedTuple):
    asked: tuple[frozenset[str], Hashable]
    results: NominatedResults
