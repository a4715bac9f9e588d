"""PerSignature: what a plugin works out of a pod's signature once, for all pods of that signature.

Plugins keep one as an attribute. After every assume a plugin is asked again about one node, so anything that can be
worked out beforehand should be.
"""

from __future__ import annotations

from collections.abc import Callable
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
