"""The services of the engine that the cycles of all profiles share. `build_engine` assembles them once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..cache.cache import Cache
from ..cache.known_pods import KnownPods
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime.call_watch import CallWatch
from ..runtime.nominator import PodNominator
from .algorithm import Algorithm
from .ports import Ports
from .reports import Reports


@dataclass(frozen=True, slots=True)
class EngineServices:
    """The services.

    Attributes:
        algorithms: by schedulerName, how nodes are found and ranked; `framework` of each holds the profile's plugins.
        cache: nodes and pods as known.
        queue: pods that wait.
        nominator: pods that are nominated to a node.
        reports: writes Events and conditions.
        ports: the connections to the outside.
        call_watch: which call of a plugin is in progress.
        known: pods of the profiles' schedulers, as last seen.
    """

    algorithms: Mapping[str, Algorithm]
    cache: Cache
    queue: SchedulingQueue
    nominator: PodNominator
    reports: Reports
    ports: Ports
    call_watch: CallWatch
    known: KnownPods
