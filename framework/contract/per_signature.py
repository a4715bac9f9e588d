"""PerSignature: what a plugin works out of a pod's signature once, for all pods of that signature.

Plugins keep one as an attribute. After every assume a plugin is asked again about one node, so anything that can be
worked out beforehand should be.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from ..model.pod_info import PodInfo, PodSignature

T = TypeVar("T")


class PerSignature(Generic[T]):
    """Values by pod signature, forgotten with the signature.

    `derive` may read of the pod only what its signature stands for, and what it returns must not hold on to the pod or
    its signature, or neither would ever be freed.
    """

    __slots__ = ("_derive", "_known")

    def __init__(self, derive: Callable[[PodInfo], T]) -> None:
        self._derive = derive
        self._known: WeakKeyDictionary[PodSignature, T] = WeakKeyDictionary()

    def of(self, pod: PodInfo) -> T:
        """The value for the pod's signature."""
        try:
            return self._known[pod.signature]
        except KeyError:
            value = self._known[pod.signature] = self._derive(pod)
            return value


class SignatureCache(Generic[T]):
    """The same for values that depend on something else besides, such as the pod's labels: `most` at once.

    A value must not hold on to the signature either. Those of the signatures met first are forgotten first.
    """

    __slots__ = ("_count", "_known", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._known: WeakKeyDictionary[PodSignature, dict[Hashable, T]] = WeakKeyDictionary()

    def get(self, signature: PodSignature, key: Hashable) -> T | None:
        """The value, if it is known."""
        known = self._known.get(signature)
        return None if known is None else known.get(key)

    def put(self, signature: PodSignature, key: Hashable, value: T) -> None:
        """Remember the value in place of the one before."""
        if self._count >= self._most:
            signatures = list(self._known)
            for oldest in signatures[: len(signatures) // 2 + 1]:
                del self._known[oldest]
            self._count = sum(map(len, self._known.values()))
        self._known.setdefault(signature, {})[key] = value
        self._count += 1
