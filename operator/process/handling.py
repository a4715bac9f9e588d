"""Informer handlers with a stopwatch: how long each change took to reach cache and queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from muster.framework.contract.observer import Observer
    from muster.operator.kube.references import HasMetadata
    from muster.operator.kube.store import Handler

T_contra = TypeVar("T_contra", contravariant=True, bound="HasMetadata")


class Timed(Generic[T_contra]):
    """A handler of one kind, timed. `kind` begins the label: `PodAdd`, `NodeUpdate`, …"""

    def __init__(self, handler: Handler[T_contra], kind: str, observer: Observer, now: Callable[[], float]) -> None:
        self._handler = handler
        self._add, self._update, self._delete = f"{kind}Add", f"{kind}Update", f"{kind}Delete"
        self._observer = observer
        self._now = now

    def on_add(self, obj: T_contra, /) -> None:
        """An object was seen for the first time."""
        began = self._now()
        self._handler.on_add(obj)
        self._observer.event_handled(self._add, seconds=self._now() - began)

    def on_update(self, old: T_contra, new: T_contra, /) -> None:
        """An object changed."""
        began = self._now()
        self._handler.on_update(old, new)
        self._observer.event_handled(self._update, seconds=self._now() - began)

    def on_delete(self, obj: T_contra, /) -> None:
        """An object is gone."""
        began = self._now()
        self._handler.on_delete(obj)
        self._observer.event_handled(self._delete, seconds=self._now() - began)
