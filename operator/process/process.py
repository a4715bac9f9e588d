"""The process: all running parts, started and stopped in order.

kopf's startup handler starts it and its cleanup handler ends it. Starting returns when the informers have been started;
scheduling begins by itself when every kind is synced. Ending makes no new decisions, lets bindings in flight finish,
rejects the pods that wait at Permit, and writes the remaining events.
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
from .informers import Informers
from .loop import SchedulingLoop, expire_assumed
from .machine import HERE, Machine
from .memory import collect_hourly, resume_collection, suspend_collection
from .tasks import TaskSet
from .watchdog import Watchdog
from .writers import Writers

if TYPE_CHECKING:
    from muster.framework.config import LeaderElectionConfiguration
    from muster.framework.contract import Lister
    from muster.operator.kube.client import RoundTripper

    from .settings import Assembly

log = logging.getLogger(__name__)

_DRAIN_SECONDS = 10.0
"""For bindings, and then again for conditions and Events. The chart gives a pod 60 seconds to end; Kubernetes' default
is 30."""
_LISTED_SECONDS = 60.0
"""The longest suspension of garbage collection while the cluster is listed."""


class Process:
    """A scheduler on one API server, reached by `transport`. Create, start and stop it on one event loop.

    Raises ConfigurationError if a plugin cannot be created.

    Attributes:
        over: set when the process has to end, or has stopped.
        failed: whether it has to end because a part failed, or because it no longer leads.
        groups: the kinds of groups that its plugins know.
        leadership: the election that it takes part in.
        unfenced: a client for the writes that a standby makes too: its lease, and access reviews for its pages.
        metrics: the engine's metrics.
        process_metrics: metrics of the process besides its engine.
        engine: makes the decisions.
        writers: write to the API.
        informers: read from the API.
        clock, timing: the time and randomness of its parts.
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
        self._watchdog = Watchdog(self.engine.call_watch, self.process_metrics.loop_blocked)
        self.informers = Informers(
            self.writers.client, self.engine, self.metrics, self.timing, more=self._extenders.informers
        )
        listers.update(self.informers.listers)
        self._collection_off: asyncio.TimerHandle | None = None
        self._parts = TaskSet(on_failure=self._fail)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start informers and election, and schedule when every kind is synced and the election is won."""
        if self._machine.exclusive:
            self._watchdog.start()
            suspend_collection()
            self._collection_off = asyncio.get_running_loop().call_later(_LISTED_SECONDS, resume_collection)
        self.writers.recorder.start()
        if not self._configuration.delay_cache_until_active:
            self.informers.start(self._parts.spawn)
        self._tasks = [self._parts.spawn(self._lead()), self._parts.spawn(self._schedule())]
        if self._machine.exclusive:
            self._tasks.append(self._parts.spawn(collect_hourly(self._is_idle)))
        if self._expires:
            self._tasks.append(self._parts.spawn(expire_assumed(self.engine, self.clock)))

    def _answered(self, outcome: RequestOutcome) -> None:
        self.process_metrics.answered(outcome.method, outcome.code, outcome.seconds)
        self._server_clock.answered(outcome.date, outcome.seconds)

    async def stop(self) -> None:
        """Stop deciding, and finish the work in progress unless another process already leads."""
        self._draining = True
        self._listed()
        if self._recording is not None:
            self._recording.end()
        self.engine.scheduler.reports.end()
        self.engine.standstill.apply(self._reject_waiting_pods)
        # Without the lease all writes are fenced, so there is nothing to wait for.
        cut_off = await self.writers.drain(within=0 if self._lost else _DRAIN_SECONDS)
        if cut_off:
            log.warning("%d writes were cut off by the end", cut_off)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # Released only now: the next leader must not decide while Bindings of this process are in flight.
        await self.leadership.release()
        await self.informers.stop()
        await self._extenders.close()
        self._watchdog.stop()
        if self._recording is not None:
            self._recording.close()
        self.over.set()

    def dump(self) -> None:
        """Log cache, queue and the cache's self-check, as soon as no decision is in progress."""
        self.engine.standstill.apply(self._dump)

    def _dump(self) -> None:
        for line in (*self.engine.cache.dump(), *self.engine.queue.contents.dump()):
            log.info("%s", line)
        faults = differences(self.engine.cache)
        for fault in faults:
            log.error("the cache differs from a recount: %s", fault)
        if not faults:
            log.info("the cache equals a recount")

    def _reject_waiting_pods(self) -> None:
        for waiting in self.engine.waiting_pods:
            waiting.fail(Status.unschedulable("the scheduler is shutting down"))

    def ending(self) -> str | None:
        """A message for readiness probes once `stop` was called; None before."""
        return "process is shutting down" if self._draining else None

    def loop_stopped(self) -> str | None:
        """The problem if the scheduling loop no longer runs; see `SchedulingLoop.stopped`."""
        return None if self._draining else self._loop.stopped()

    def loop_stalled(self) -> str | None:
        """The problem if ready pods are not decided; see `SchedulingLoop.stalled`."""
        return None if self._draining else self._loop.stalled()

    def _listed(self) -> None:
        """Resume garbage collection, if it is off: the cluster is listed, or the process ends."""
        if self._collection_off is not None:
            self._collection_off.cancel()
            self._collection_off = None
            resume_collection()

    def _is_idle(self) -> bool:
        engine = self.engine
        return not (engine.queue.pop_is_due() or engine.scheduler.bindings_in_flight or engine.standstill.has_delayed)

    def _may_schedule(self) -> bool:
        return not self._draining and self.leadership.may_write()

    def _may_report(self) -> bool:
        return self.leadership.may_write() and self.informers.missing() is None

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
            self.informers.start(self._parts.spawn)
        elif self._configuration.leader_election.leader_elect:
            # A watch may lag behind the former leader's last Bindings; capacity that they use would look free.
            await self.informers.refresh()
        await self.informers.complete()
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
