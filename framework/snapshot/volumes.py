"""Volumes of the pods on nodes: which claims are in use, which disks are attached where, and by which pods.

The snapshot updates it with pods that have volumes of interest; the volume plugins read it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ..model.pod_info import PodInfo
from ..model.pod_volumes import DiskUse, claims_named_by, disks_of


class VolumeTable:
    """Counts of claims by `namespace/name`, of disks by row, and the pods behind them."""

    __slots__ = ("_claims", "_disks", "_pods")

    def __init__(self) -> None:
        self._claims: dict[str, int] = {}
        self._disks: dict[DiskUse, dict[int, int]] = {}
        self._pods: dict[int, dict[str, PodInfo]] = {}

    def add(self, row: int, info: PodInfo) -> None:
        """The pod is on `row` now."""
        self._pods.setdefault(row, {})[info.uid] = info
        for claim in claims_named_by(info.pod):
            key = f"{info.namespace}/{claim}"
            self._claims[key] = self._claims.get(key, 0) + 1
        for use in disks_of(info.pod):
            rows = self._disks.setdefault(use, {})
            rows[row] = rows.get(row, 0) + 1

    def remove(self, row: int, info: PodInfo) -> None:
        """The pod, which was added there, is not on `row` any more."""
        pods = self._pods[row]
        del pods[info.uid]
        if not pods:
            del self._pods[row]
        for claim in claims_named_by(info.pod):
            key = f"{info.namespace}/{claim}"
            self._claims[key] -= 1
            if not self._claims[key]:
                del self._claims[key]
        for use in disks_of(info.pod):
            rows = self._disks[use]
            rows[row] -= 1
            if not rows[row]:
                del rows[row]
            if not rows:
                del self._disks[use]

    def in_use(self, claim: str) -> bool:
        """Whether a pod on a node names the claim `namespace/name`."""
        return claim in self._claims

    def pods_on(self, row: int) -> Collection[PodInfo]:
        """Pods on `row` that have volumes."""
        return self._pods.get(row, {}).values()

    def rows(self) -> Collection[int]:
        """Rows with such pods."""
        return self._pods.keys()

    def conflicting_rows(self, wanted: Iterable[DiskUse]) -> set[int]:
        """Rows with a pod beside which one of these disks cannot be used."""
        found: set[int] = set()
        for use in wanted:
            found.update(self._disks.get(DiskUse(use.disk, True), ()))
            if use.exclusive:
                found.update(self._disks.get(DiskUse(use.disk, False), ()))
        return found

    def claims(self) -> Mapping[str, int]:
        """How many volumes name each claim, for the self-check."""
        return self._claims

    def disks(self) -> Mapping[DiskUse, Mapping[int, int]]:
        """How many pods use each disk by row, for the self-check."""
        return self._disks
