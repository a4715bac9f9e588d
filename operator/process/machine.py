"""The machine of a process: time, randomness, names, and whether the process has the interpreter to itself.

No other code of a process reads a clock or draws random numbers, and a process sleeps only on its event loop. With a
simulated `Machine`, a whole process therefore runs in virtual time and from one seed. `HERE` is the real machine.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import random as _random
from random import randrange as _randrange
from uuid import uuid4

from muster.operator.kube.events import Ambient
from muster.operator.kube.informer import Timing
from muster.operator.leader.elector import ElectionClock

from .clock import LoopClock


@dataclass(frozen=True, slots=True)
class Machine:
    """The sources of time, randomness and names.

    Attributes:
        now: seconds on a monotonic clock as fast as the event loop's.
        wall: seconds since the epoch.
        random: returns a number in [0, 1).
        choose: returns a number below the given one.
        uid: returns a unique name.
        hostname: the host's name.
        exclusive: whether the process has its interpreter to itself. Then a thread watches its loop, and garbage
            collection is adjusted (`memory`).
    """

    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    random: Callable[[], float] = _random
    choose: Callable[[int], int] = _randrange
    uid: Callable[[], str] = lambda: str(uuid4())
    hostname: str = socket.gethostname()
    exclusive: bool = True

    def clock(self) -> LoopClock:
        """The engine's clock."""
        return LoopClock(self.now, self.wall)

    def timing(self) -> Timing:
        """The informers' timing."""
        return Timing(random=self.random, clock=self.now)

    def election(self) -> ElectionClock:
        """The elector's clock."""
        return ElectionClock(now=self.now, wall=self.wall, random=self.random)

    def ambient(self) -> Ambient:
        """Time and names for the recorder of Events."""
        return Ambient(wall_clock=lambda: round(self.wall() * 1e9), random=self.random, hostname=self.hostname)


HERE = Machine()
