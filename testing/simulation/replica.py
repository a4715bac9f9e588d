"""One of the processes of a simulation: all of Muster except kopf, pages and admission, on a simulated machine.

The process with its informers, election and writers, and the controllers of groups, run as in `muster run`. It can be
stopped, slowed, killed, terminated, and cut off; whenever it has ended it is restarted a few seconds later, as a
kubelet does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from muster.operator.podgroups.worker import GroupWorker
from muster.operator.process.group_controllers import group_controllers
from muster.operator.process.machine import Machine
from muster.operator.process.process import Process
from muster.operator.process.settings import Assembly

from .loop import Owner, SimulatedLoop
from .network import SimulatedTransport, Weather
from .server import SimulatedServer
from .streams import Record

_RESTART_SECONDS = 3.0


class Replica:
    """A process that is started again and again.

    Attributes:
        name: its hostname.
        process: the one that runs now, None between two.
        on_start: called with each process that is started.
        weather: of its way to the API server.
        jump: how far its wall clock is off, in seconds.
    """

    def __init__(
        self, name: str, assembly: Assembly, server: SimulatedServer, loop: SimulatedLoop, *, seed: str, record: Record
    ) -> None:
        self.name = name
        self.process: Process | None = None
        self.on_start: Callable[[Process], None] = lambda process: None
        self.jump = 0.0
        self._assembly = assembly
        self._server = server
        self._loop = loop
        self._record = record
        self._random = Random(f"{seed}/{name}")
        self._network = loop.owner(f"the way of {name}")
        self._weather = Weather()
        self._incarnation = 0
        self._tick = self._random.choice((0.0, 0.0, 0.00002, 0.0002))
        self._pace = 0.0
        self.start()

    @property
    def identity(self) -> str:
        """The sender's name in its requests: a new one for each process."""
        return f"{self.name}.{self._incarnation}"

    @property
    def leads(self) -> bool:
        """Whether its process believes that it holds the lease."""
        return self.process is not None and self.process.leadership.may_write()

    @property
    def weather(self) -> Weather:
        """The faults on the way to the API server."""
        return self._weather

    @weather.setter
    def weather(self, weather: Weather) -> None:
        self._weather = self.transport.weather = weather

    def start(self) -> None:
        """Start a process, unless one runs."""
        if self.process is not None:
            return
        self._incarnation += 1
        self._owner = owner = self._loop.owner(self.identity)
        owner.pace = self._pace
        self.transport = SimulatedTransport(
            self.identity, self._server, self._loop, self._network, random=self._random, record=self._record
        )
        self.transport.weather = self._weather
        self._record(f"{self.identity} starts")
        self.process = owner.context.run(self._begin, owner)
        self.on_start(self.process)

    def kill(self) -> None:
        """Stop everything of the process at once; messages that it has sent still arrive."""
        if self.process is not None:
            self._owner.stopped = True
            self._gone()

    def end(self) -> None:
        """Ask the process to end, as SIGTERM does."""
        if self.process is not None:
            self.process.over.set()

    def stop(self) -> None:
        """Pause the process, as SIGSTOP does."""
        self._owner.stopped = True

    def go_on(self) -> None:
        """Resume the process if it is alive, as SIGCONT does."""
        if self.process is not None:
            self._owner.stopped = False

    def slow(self, pace: float) -> None:
        """Let every callback of the process take this many seconds from now on."""
        self._pace = self._owner.pace = pace

    def _begin(self, owner: Owner) -> Process:
        machine = Machine(
            now=self._clock(),
            wall=lambda: self._server.wall() + self.jump,
            random=self._random.random,
            choose=self._random.randrange,
            uid=lambda: self.identity,
            hostname=self.name,
            exclusive=False,
        )
        process = Process(self._assembly, self.transport, machine)
        self._loop.create_task(self._live(process, group_controllers(process)))
        return process

    async def _live(self, process: Process, groups: list[GroupWorker]) -> None:
        """The life of a process under kopf: start everything, wait for the end, end everything."""
        process.start()
        for controller in groups:
            controller.start()
        await process.over.wait()
        for controller in groups:
            await controller.stop()
        await process.stop()
        if self.process is process:
            self._gone()

    def _gone(self) -> None:
        self._record(f"{self.identity} is gone")
        self.transport.close()
        self.process = None
        self._loop.call_later(_RESTART_SECONDS, self.start, context=self._network.context)

    def _clock(self) -> Callable[[], float]:
        """The process's clock: only reading it takes a process any time."""
        return partial(self._loop.spend, self._tick) if self._tick else self._loop.time
