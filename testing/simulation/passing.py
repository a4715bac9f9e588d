"""Passing pods: small pods that run for a while and end, while others arrive. They make up the crowd of a history."""

from __future__ import annotations

from functools import partial
from random import Random

from muster.framework.model.run_seconds import RUN_SECONDS
from muster.sandbox.kinds import PODS
from muster.sandbox.lifecycle import DeleteOptions
from muster.sandbox.objects import Object
from muster.testing.builders import make_pod

from .acts import CallLater
from .loop import SimulatedLoop
from .server import SimulatedServer

NAMESPACE = "default"
AT_ONCE = DeleteOptions(grace=0)
_PASSING = "passing-"
_EVERY_SECONDS = 5.0
BETWEEN_SECONDS = _EVERY_SECONDS / 2
"""So long after whole periods nothing passes: a pod that ends at this very moment is not yet known to be gone."""
_LATE_SECONDS = 2 * _EVERY_SECONDS
"""So much later may it be seen that a pod has a node, and that its time is up."""
_CPUS = (1000, 2000)


class Passing:
    """Lets streams of pods pass. Pods of a stream are known by their names."""

    def __init__(self, server: SimulatedServer, loop: SimulatedLoop, later: CallLater) -> None:
        self._server = server
        self._store = server.store
        self._loop = loop
        self._later = later
        self._lives: dict[str, float] = {}
        self._ends: dict[str, float] = {}
        self._made = 0

    def stream_begins(self, draw: float, longest: float, said: bool, waiting: int, *, seconds: float) -> None:
        """From now on so many small pods wait at any time, for so many seconds; each runs for at most `longest`.

        `draw` chooses them, and `said` whether they say how long they run.
        """
        until = self._loop.time() + seconds
        self._stream_goes_on(Random(draw), longest, said, waiting, until=until)

    def _stream_goes_on(self, random: Random, longest: float, said: bool, waiting: int, *, until: float) -> None:
        now = self._loop.time()
        passing = [pod for pod in self._server.objects(PODS) if passes(pod)]
        for pod in passing:
            name = pod["metadata"]["name"]
            if pod["spec"].get("nodeName") and self._ends.setdefault(name, now + self._lives[name]) <= now:
                del self._ends[name], self._lives[name]
                self._store.delete(PODS, name, namespace=NAMESPACE, options=AT_ONCE)
        if now < until:
            for _ in range(waiting - sum(not pod["spec"].get("nodeName") for pod in passing)):
                self._one_comes(random, longest, said)
        if now < until or passing:
            self._later(_EVERY_SECONDS, partial(self._stream_goes_on, random, longest, said, waiting, until=until))

    def _one_comes(self, random: Random, longest: float, said: bool) -> None:
        self._made += 1
        name, seconds = f"{_PASSING}{self._made}", random.uniform(longest / 2, longest - _LATE_SECONDS)
        pod = make_pod(name).requests(cpu=f"{random.choice(_CPUS)}m")
        if said:
            pod.annotations({RUN_SECONDS: f"{seconds + _LATE_SECONDS:.0f}"})
        self._lives[name] = seconds
        self._store.create(PODS, pod, namespace=NAMESPACE)


def passes(pod: Object) -> bool:
    """Whether it is one that ends by itself."""
    name: str = pod["metadata"]["name"]
    return name.startswith(_PASSING)
