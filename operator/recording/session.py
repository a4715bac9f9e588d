"""The recording of a running process: its file, its writer, and its head.

The process creates one before its engine, builds the engine on `ports`, drives the engine that `watch` returns, and
closes the recording.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from muster.operator.versions import own

from .events import FORMAT, Began
from .recorder import NODES, PODS, Recorder
from .writer import RecordingFiles, RecordingWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from muster.framework.config import KubeSchedulerConfiguration, ResolvedProfile
    from muster.framework.contract import Clock, Plugin, WatchedKind
    from muster.framework.runtime.standstill import Standstill
    from muster.framework.scheduler.engine import Engine
    from muster.framework.scheduler.ports import Ports


class Assembled(Protocol):
    """The recorded or replayed assembly: a configuration with its resolved profiles and the plugins they use."""

    @property
    def configuration(self) -> KubeSchedulerConfiguration:
        """The configuration."""
        ...

    @property
    def profiles(self) -> Sequence[ResolvedProfile]:
        """The resolved profiles."""
        ...

    @property
    def registry(self) -> Mapping[str, type[Plugin]]:
        """The plugins by name."""
        ...

    @property
    def assumed_ttl(self) -> float | None:
        """How many seconds after its binding a pod that the API never reports is forgotten; None for never."""
        ...

    def watched(self) -> Sequence[WatchedKind]:
        """The kinds, besides pods and nodes, that the profiles' plugins watch."""
        ...


DECISIVE = {
    "api_version",
    "kind",
    "percentage_of_nodes_to_score",
    "pod_initial_backoff_seconds",
    "pod_max_backoff_seconds",
    "profiles",
}
"""The settings that are recorded: those that affect decisions."""


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """The options of a recording.

    Attributes:
        path: the file. The previous part is in a file with the suffix `.1`.
        most_bytes: the limit for both files together.
        annotations: further annotations of pods and nodes to write, which plugins of other packages may read.
    """

    path: Path
    most_bytes: int
    annotations: frozenset[str] = frozenset()


class RecordingSession:
    """Records one engine. Raises OSError if the file cannot be created."""

    def __init__(self, options: RecordingOptions, clock: Clock) -> None:
        self._writer = RecordingWriter(RecordingFiles(options.path, options.most_bytes, options.annotations))
        self._seed = random.getrandbits(32)
        self._recorder = Recorder(self._writer, clock, self._seed)

    @property
    def standstill(self) -> Standstill:
        """The engine's standstill."""
        return self._recorder.standstill

    def ports(self, ports: Ports) -> Ports:
        """The ports to build the engine on."""
        return self._recorder.ports(ports)

    def watch(self, engine: Engine, assembly: Assembled) -> Engine:
        """The recorded engine, for its driver."""
        self._writer(head(self._recorder, self._seed, engine, assembly))
        return self._recorder.watch(engine)

    def end(self) -> None:
        """End the recording."""
        self._recorder.end()

    def close(self) -> None:
        """Wait until all events are written."""
        self._recorder.end()
        self._writer.close()


def head(recorder: Recorder, seed: int, engine: Engine, assembly: Assembled) -> Began:
    """The first line of a recording."""
    return Began(
        format=FORMAT,
        muster=own(),
        at=recorder.clock.now(),
        wall=recorder.clock.wall(),
        seed=seed,
        configuration=_decisive(assembly.configuration),
        kinds=(PODS, NODES, *(kind.resource for kind in engine.object_handlers)),
        assumed_ttl=assembly.assumed_ttl,
    )


def _decisive(configuration: KubeSchedulerConfiguration) -> dict[str, Any]:
    """The configuration without settings that concern only the API server, such as credentials."""
    return configuration.model_dump(mode="json", by_alias=True, include=DECISIVE, exclude_none=True)
