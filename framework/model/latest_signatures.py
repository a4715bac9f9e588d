"""A cache by pod signature that keeps the signatures used last.

The cache of columns and that of dry runs use it: results that equal pods need again and again stay available, and
neither many signatures nor signatures without pods occupy memory for long.
"""

from __future__ import annotations

from typing import Generic, TypeVar
from weakref import ref

from cachetools import LRUCache

from .pod_info import PodSignature

T = TypeVar("T")


class LatestSignatures(Generic[T]):
    """Values of at most `most` signatures. One that no pod has is forgotten at once, unless its value holds it."""

    __slots__ = ("__weakref__", "_known")

    def __init__(self, most: int) -> None:
        self._known: LRUCache[ref[PodSignature], T] = LRUCache(most)

    def get(self, signature: PodSignature) -> T | None:
        """The value of the signature, which is the one asked about last by that."""
        return self._known.get(ref(signature))

    def put(self, signature: PodSignature, value: T) -> T:
        """Remember the value in place of the one before."""
        self._known[ref(signature, self._forget)] = value
        return value

    def clear(self) -> None:
        """Forget them all."""
        self._known.clear()

    def _forget(self, gone: ref[PodSignature]) -> None:
        self._known.pop(gone, None)
