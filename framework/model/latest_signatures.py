"""What is remembered by pod signature, of the signatures that were asked about last.

Caches of verdicts, scores, room and dry runs keep it so: what equal pods ask again and again is at hand, and neither
many signatures nor ones without pods take memory for long.
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

    def drop(self, signature: PodSignature) -> None:
        """Forget the signature."""
        self._forget(ref(signature))

    def clear(self) -> None:
        """Forget them all."""
        self._known.clear()

    def _forget(self, gone: ref[PodSignature]) -> None:
        self._known.pop(gone, None)
