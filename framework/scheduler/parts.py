"""The parts of the engine that the cycles of all profiles share. `build_engine` assembles them once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..cache.cache import Cache
from ..cache.known_pods import KnownPods
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime.nominator import PodNominator
from ..runtime.watch import CallWatch
from .algorithm import Algorithm
from .ports import Ports
from .reports import Reports


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts.

    Attributes:
        algorithms: by schedulerName, how nodes are found and ranked; `framework` of each are the profile's plugins.
        cache: nodes and pods as known.
        queue: pods that wait.
        nominator: pods that are nominated to a node.
        reports: what people are told.
        ports: the surroundings.
        watch: which call of a plugin is under way.
        known: pods of the profiles' schedulers, as last seen.
    """

    algorithms: Mapping[str, Algorithm]
    cache: Cache
    queue: SchedulingQueue
    nominator: PodNominator
    reports: Reports
    ports: Ports
    watch: CallWatch
    known: KnownPods
