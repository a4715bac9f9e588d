"""The process: everything that runs, started in order and ended in order.

kopf's startup handler starts it and its cleanup handler ends it. Starting returns when the informers have been started;
scheduling begins by itself when every kind is synced. Ending makes no new decisions, lets bindings in flight finish,
rejects the pods that Permit holds, and writes the remaining events.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from muster.framework.cache.recount import differences
from muster.framework.contract import Status
from muster.framework.metrics import SchedulerMetrics
from muster.framework.runtime.standstill import Standstill
from muster.framework.scheduler.engine import build_engine
from muster.operator.kube.client import ApiClient
from muster.operator.kube.server_clock import ServerClock
from muster.operator.kube.transport import RequestOutcome
from muster.operator.leader.elector import Alone, Elector, Leadership, Terms
from muster.operator.metrics import ProcessMetrics
from muster.operator.recording.session import RecordingSession
from muster.operator.versions import build

from .extenders import Extenders
from .loop import SchedulingLoop, expire_assumed
from .machine import HERE, Machine
from .memory import keep_all, keep_what_there_is, look_at_all
from .tasks import TaskSet
from .watchdog import Watchdog
from .watches import Watches
from .writers import Writers

if TYPE_CHECKING:
    from muster.framework.config import LeaderElectionConfiguration
    from muster.framework.contract import Lister
    from muster.operator.kube.client import RoundTripper

    from .settings import Assembly

log = logging.getLogger(__name__)

_DRAIN_SECONDS = 10.0
"""For bindings, and again for what is to be told. The chart leaves a pod 60 seconds to end, Kubernetes by itself 30."""
_LISTED_SECONDS = 60.0
"""How long the collector may be kept from looking for garbage while the cluster is listed."""


class Process:
    """A scheduler on one API server, reached by `transport`. To be made, started and stopped on one event loop.

    Raises ConfigurationError when a plugin cannot be made.

    Attributes:
        over: set when the process has to end, or has ended in order.
        failed: whether that is because it cannot go on: a part of it failed, or it is not the leader any more.
        groups: the kinds of groups that its plugins know.
        leadership: the election it takes part in.
        unfenced: a client for what a standby writes too: its lease, and reviews of who may read its pages.
        metrics: what was counted.
        process_metrics: what the process counts beside its engine.
        engine: what decides.
        writers: what writes.
        watches: what reads.
        clock, timing: time, and chance, as its parts meet them.
    """

    def __init__(self, assembly: Assembly, transport: RoundTripper, machine: Machine = HERE) -> None:
        self._server_clock = ServerClock(machine.now, machine.wall)
        machine = replace(machine, wall=self._server_clock.wall)
        clock = machine.clock()
        listers: dict[str, Lister] = {}
        self._configuration = assembly.configuration
        self.groups = assembly.groups
        self._machine = machine
        self.clock = clock
        self.timing = machine.timing()
        self._expires = assembly.assumed_ttl is not None
        self._draining = False
        self._lost = False
        self.over = asyncio.Event()
        self.failed = False
        self.unfenced = ApiClient(transport)
        self.leadership = _leadership(assembly.configuration.leader_election, self.unfenced, machine)
        self.metrics = SchedulerMetrics()
        self.process_metrics = ProcessMetrics(transport.host, build())
        self._recording = None if assembly.recording is None else RecordingSession(assembly.recording, clock)
        transport.subscribe(self._answered)
        self.writers = Writers(
            transport,
            assembly.configuration.client_connection,
            machine=machine,
            may_write=self.leadership.may_write,
            wake=lambda: self._loop.wake(),
            standstill=Standstill(clock.now) if self._recording is None else self._recording.standstill,
            on_write=self.process_metrics.written,
        )
        self._extenders = Extenders(assembly.configuration, self.writers, self.timing)
        ports = self.writers.ports(self.metrics, listers, self._extenders.all, may_report=self._may_report)
        if self._recording is not None:
            ports = self._recording.ports(ports)
        self.engine = build_engine(
            assembly.configuration,
            assembly.profiles,
            assembly.registry,
            ports,
            assumed_ttl=assembly.assumed_ttl,
        )
        if self._recording is not None:
            self.engine = self._recording.watch(self.engine, assembly)
        self._loop = SchedulingLoop(self.engine, clock, may_schedule=self._may_schedule)
        self._watchdog = Watchdog(self.engine.call_watch, self.process_metrics.loop_held)
        self.watches = Watches(
            self.writers.client, self.engine, self.metrics, self.timing, more=self._extenders.informers
        )
        listers.update(self.watches.listers)
        self._kept: asyncio.TimerHandle | None = None
        self._parts = TaskSet(on_failure=self._fail)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start watches and election, and schedule when every kind is synced and the election is won."""
        if self._machine.exclusive:
            self._watchdog.start()
            keep_all()
            self._kept = asyncio.get_running_loop().call_later(_LISTED_SECONDS, keep_what_there_is)
        self.writers.recorder.start()
        if not self._configuration.delay_cache_until_active:
            self.watches.start(self._parts.spawn)
        self._tasks = [self._parts.spawn(self._lead()), self._parts.spawn(self._schedule())]
        if self._machine.exclusive:
            self._tasks.append(self._parts.spawn(look_at_all(self._rests)))
        if self._expires:
            self._tasks.append(self._parts.spawn(expire_assumed(self.engine, self.clock)))

    def _answered(self, outcome: RequestOutcome) -> None:
        self.process_metrics.answered(outcome.method, outcome.code, outcome.seconds)
        self._server_clock.answered(outcome.date, outcome.seconds)

    async def stop(self) -> None:
        """Make no new decisions, and end the work in progress, unless another process leads by now."""
        self._draining = True
        self._listed()
        if self._recording is not None:
            self._recording.end()
        self.engine.scheduler.reports.end()
        self.engine.standstill.apply(self._turn_away)
        # Without the lease all writes are fenced, so there is nothing to wait for.
        cut_off = await self.writers.drain(within=0 if self._lost else _DRAIN_SECONDS)
        if cut_off:
            log.warning("%d writes were cut off by the end", cut_off)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # Released only now: the next leader must not decide while Bindings of this process are in flight.
        await self.leadership.release()
        await self.watches.stop()
        await self._extenders.close()
        self._watchdog.stop()
        if self._recording is not None:
            self._recording.close()
        self.over.set()

    def dump(self) -> None:
        """Write cache, queue and the cache's self-check to the log, as soon as no decision is under way."""
        self.engine.standstill.apply(self._dump)

    def _dump(self) -> None:
        for line in (*self.engine.cache.dump(), *self.engine.queue.contents.dump()):
            log.info("%s", line)
        faults = differences(self.engine.cache)
        for fault in faults:
            log.error("the cache differs from a recount: %s", fault)
        if not faults:
            log.info("the cache equals a recount")

    def _turn_away(self) -> None:
        for waiting in self.engine.held_pods:
            waiting.fail(Status.unschedulable("the scheduler is shutting down"))

    def ending(self) -> str | None:
        """None until `stop` is called, then that it was."""
        return "process is shutting down" if self._draining else None

    def stands(self) -> str | None:
        """None while the scheduling loop turns, or has not begun; see `SchedulingLoop.stands`."""
        return None if self._draining else self._loop.stands()

    def idles(self) -> str | None:
        """None while decisions are made; see `SchedulingLoop.idles`."""
        return None if self._draining else self._loop.idles()

    def _listed(self) -> None:
        """The collector need not wait any longer."""
        if self._kept is not None:
            self._kept.cancel()
            self._kept = None
            keep_what_there_is()

    def _rests(self) -> bool:
        engine = self.engine
        return not (engine.queue.pop_is_due() or engine.scheduler.binding or engine.standstill.has_delayed)

    def _may_schedule(self) -> bool:
        return not self._draining and self.leadership.may_write()

    def _may_report(self) -> bool:
        return self.leadership.may_write() and self.watches.missing() is None

    async def _lead(self) -> None:
        await self.leadership.run()
        self._lost = True
        self._fail()

    def _fail(self) -> None:
        self.failed = True
        self.over.set()

    async def _schedule(self) -> None:
        await self.leadership.elected.wait()
        if self._configuration.delay_cache_until_active:
            self.watches.start(self._parts.spawn)
        elif self._configuration.leader_election.leader_elect:
            # A watch may lag behind the former leader's last Bindings; capacity that they use would look free.
            await self.watches.refresh()
        await self.watches.complete()
        self._listed()
        log.info("scheduling begins: %d nodes", self.engine.cache.snapshot.node_count)
        await self._loop.run()


def _leadership(election: LeaderElectionConfiguration, client: ApiClient, machine: Machine) -> Leadership:
    if not election.leader_elect:
        return Alone()
    terms = Terms(
        name=election.resource_name,
        namespace=election.resource_namespace,
        identity=f"{machine.hostname}_{machine.uid()}",
        duration=election.lease_duration,
        renew_deadline=election.renew_deadline,
        retry_period=election.retry_period,
    )
    return Elector(terms, client, machine.election())
