"""PerShape: what a plugin works out of a pod's shape once, for all pods of that shape.

Plugins keep one as an attribute. After every assume a plugin is asked again about one node, so anything that can be
worked out beforehand should be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from ..model.pod_info import PodInfo, PodShape

T = TypeVar("T")


class PerShape(Generic[T]):
    """Values by pod shape, forgotten with the shape.

    `derive` may read of the pod only what its shape stands for, and what it returns must not hold on to the pod or its
    shape, or neither would ever be freed.
    """

    __slots__ = ("_derive", "_known")

    def __init__(self, derive: Callable[[PodInfo], T]) -> None:
        self._derive = derive
        self._known: WeakKeyDictionary[PodShape, T] = WeakKeyDictionary()

    def of(self, pod: PodInfo) -> T:
        """The value for the pod's shape."""
        try:
            return self._known[pod.shape]
        except KeyError:
            value = self._known[pod.shape] = self._derive(pod)
            return value
