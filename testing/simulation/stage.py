"""The stage of a simulation: an API server, processes on it, the outside world that acts on them, and a judge.

`simulate` plays a history on one. Tests that look at processes in between create one of their own.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from random import Random
from weakref import WeakKeyDictionary

from muster.framework.scheduler.scheduler import Scheduler
from muster.operator.process.settings import Assembly

from .judge import Judge
from .loop import SimulatedLoop
from .replica import Replica
from .server import SimulatedServer
from .world import World

_LOOK_EVERY = 50
_ALL_STEPS = 0.05
"""The share of seeds for which the judge checks after every single step during troubles, which takes some time."""
_MOST_STEPS = 300_000
_MOST_DECISIONS = 2_000
"""The number of decisions in a second with which a process counts as deciding the same pods again and again."""


class EndlessError(Exception):
    """Raised for a run that does not end."""


class _Rates:
    """How many decisions each process makes in a second."""

    def __init__(self) -> None:
        self._began: WeakKeyDictionary[Scheduler, tuple[float, int]] = WeakKeyDictionary()

    def look(self, scheduler: Scheduler, now: float) -> None:
        """Count the decisions until `now`, in seconds. Raises EndlessError for too many in less than a second."""
        since, before = self._began.setdefault(scheduler, (now, scheduler.decided))
        if now - since >= 1.0:
            self._began[scheduler] = now, scheduler.decided
        elif scheduler.decided - before > _MOST_DECISIONS:
            raise EndlessError(f"{scheduler.decided - before} decisions within a second")


class Stage:
    """A cluster at the beginning of a run. `seed` determines everything; `trace` is called with each recorded line.

    Attributes:
        loop: the event loop, in virtual time.
        server: the API server.
        replicas: the processes.
        world: the outside world.
        judge: checks the guarantees.
        digest: the hash of everything that was recorded, bodies included.
        began: the time of the beginning, in seconds on the loop's clock.
        most_steps: the number of callbacks after which the run counts as endless.
    """

    def __init__(
        self, seed: str, replicas: int, assembly: Assembly, trace: Callable[[str], None] = lambda line: None
    ) -> None:
        self.loop = SimulatedLoop(Random(f"{seed}/loop"))
        self.began = self.loop.time()
        self.digest = hashlib.blake2b(digest_size=16)
        self.most_steps = _MOST_STEPS
        self._trace = trace
        self._rates = _Rates()
        self._look_every = 1 if Random(f"{seed}/looks").random() < _ALL_STEPS else _LOOK_EVERY
        asyncio._set_running_loop(self.loop)
        try:
            self.server = SimulatedServer(self.loop, Random(f"{seed}/server"))
            self.replicas = [
                Replica(f"muster-{number}", assembly, self.server, self.loop, seed=seed, record=self.record)
                for number in range(replicas)
            ]
        finally:
            asyncio._set_running_loop(None)
        self.world = World(self.server, self.replicas, self.loop, self.record)
        self.judge = Judge(self.server, self.replicas, self.world)

    def record(self, line: str, *bodies: bytes) -> None:
        """Record a line that has to be the same with the same seed; only `line` is traced."""
        whole = f"{self.loop.time() - self.began:.6f} {line}"
        self.digest.update(b"".join([b"%d %b" % (len(part), part) for part in (whole.encode(), *bodies)]))
        self._trace(whole)

    def go_on(self, seconds: float) -> None:
        """Let this many seconds pass. Raises EndlessError."""
        self.loop.run_until(self.loop.time() + seconds, self._after_step)

    def calm_down(self) -> None:
        """End the troubles, and the checks after every single step."""
        self.world.troubles.calm_down()
        self._look_every = _LOOK_EVERY

    def end(self) -> None:
        """End all processes."""
        self.loop.end()

    def _after_step(self) -> None:
        if self.loop.steps % self._look_every == 0:
            self.judge.look()
        for replica in self.replicas:
            if replica.process is not None:
                self._rates.look(replica.process.engine.scheduler, self.loop.time())
        if self.loop.steps > self.most_steps:
            raise EndlessError(f"no end after {self.most_steps} steps")
