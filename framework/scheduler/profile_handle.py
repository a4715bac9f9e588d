"""The handle that a profile's plugins get."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from ..contract.api import Api
from ..contract.handle import Binder, Clock, EventSink, Lister
from ..contract.observer import Observer
from ..model.pod_info import PodInfo
from ..runtime.waiting import WaitingPods
from ..snapshot.snapshot import Snapshot
from .ports import Ports

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProfileHandle:
    """Implements `contract.handle.Handle` for one profile."""

    profile_name: str
    snapshot: Snapshot
    waiting_pods: WaitingPods
    ports: Ports
    activate: Callable[[Mapping[str, PodInfo]], None]
    shared_values: dict[str, object]

    @property
    def clock(self) -> Clock:
        """Time."""
        return self.ports.clock

    @property
    def events(self) -> EventSink:
        """Events for people, in this profile's name."""
        return self.ports.events(self.profile_name)

    @property
    def binder(self) -> Binder:
        """Writes bindings."""
        return self.ports.binder

    @property
    def api(self) -> Api:
        """Reads and writes other objects."""
        return self.ports.api

    @property
    def observer(self) -> Observer:
        """Metrics."""
        return self.ports.observer

    def lister(self, resource: str) -> Lister:
        """Objects of a kind that a plugin declared in `watches`. Raises KeyError for any other."""
        return self.ports.listers[resource]

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """What the plugins of all profiles keep together under `key`; made by whoever asks first."""
        if key not in self.shared_values:
            self.shared_values[key] = make()
        return cast("T", self.shared_values[key])
