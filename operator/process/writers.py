"""Everything of a process that writes to the API, made of one connection: the engine's ports for writing among them."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from cachetools import LRUCache

from muster.framework.contract import MERGE_PATCH, Status
from muster.framework.model.pod import PodCondition
from muster.framework.scheduler.profile_handle import Ports
from muster.operator.kube.bindings import BindingWriter
from muster.operator.kube.client import ApiClient, PatchType
from muster.operator.kube.events import EventRecorder
from muster.operator.kube.limiter import TokenBucket
from muster.operator.kube.outcome import Result
from muster.operator.kube.pod_status import StatusWriter, plan_patch
from muster.operator.kube.retry import Retrier

from .tasks import TaskSet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from muster.framework.config import ClientConnectionConfiguration
    from muster.framework.contract import Clock, Lister
    from muster.framework.contract.extender import Extender
    from muster.framework.contract.observer import Observer
    from muster.framework.model.pod_info import PodInfo
    from muster.framework.runtime.standstill import Standstill
    from muster.operator.kube.client import RoundTripper
    from muster.operator.kube.outcome import Outcome

    from .machine import Machine

log = logging.getLogger(__name__)

_DEFAULT_BURST = 100
"""kube-scheduler's, for a configuration that sets `qps` alone."""
_NOMINATIONS = 10_000


class Writers:
    """Clients and writers over one connection.

    Attributes:
        client: for all that a scheduler writes, and for reading; its writes are fenced.
        bindings: the binding cycles under way.
        recorder: writes events, with a client of its own, so that they never keep a Binding waiting.
    """

    def __init__(
        self,
        transport: RoundTripper,
        limits: ClientConnectionConfiguration,
        *,
        machine: Machine,
        may_write: Callable[[], bool],
        wake: Callable[[], None],
        standstill: Standstill,
        on_write: Callable[[str, str], None] = lambda verb, resource: None,
    ) -> None:
        """`may_write` is asked before each fenced write; `wake` is called when there may be something to decide.

        `standstill` paces what is to be written. `on_write` is told of each write, as by `ApiClient`.
        """
        retrier = Retrier(random=machine.random)
        self._machine = machine
        self._clock = clock = machine.clock()
        self._wake = wake
        self._standstill = standstill

        def client() -> ApiClient:
            return ApiClient(transport, limiter=_limiter(limits, machine), may_write=may_write, on_write=on_write)

        self.client = client()
        self.recorder = EventRecorder(client(), ambient=machine.ambient())
        self.bindings = TaskSet()
        self._statuses = TaskSet()
        self._conditions = PodConditionWriter(StatusWriter(self.client, retrier), self._statuses, clock, standstill)
        self._binder = ApiBinder(BindingWriter(self.client, retrier), self._conditions)

    @property
    def conditions(self) -> PodConditionWriter:
        """Writes the PodScheduled condition."""
        return self._conditions

    def ports(self, observer: Observer, listers: Mapping[str, Lister], extenders: Sequence[Extender] = ()) -> Ports:
        """The engine's ports over these writers."""
        return Ports(
            clock=self._clock,
            random=self._machine.random,
            choose=self._machine.choose,
            spawn=self.bindings.spawn,
            wake=self._wake,
            binder=self._binder,
            conditions=self._conditions,
            events=self.recorder.for_profile,
            listers=listers,
            observer=observer,
            api=PluginApi(self.client),
            extenders=extenders,
            standstill=self._standstill,
        )

    async def drain(self, *, within: float) -> int:
        """Let bindings under way end, then what is to be told of them and others, for `within` seconds each.

        Returns how many writes were cut off, events apart.
        """
        bindings = await self.bindings.drain(within=within)
        statuses, _ = await asyncio.gather(self._statuses.drain(within=within), self.recorder.drain(within=within))
        return bindings + statuses


class ApiBinder:
    """Implements `contract.Binder`."""

    def __init__(self, writer: BindingWriter, conditions: PodConditionWriter) -> None:
        self._writer = writer
        self._conditions = conditions

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Bind the pod; success when the API accepted it. What was still to be said of why it waits is not said."""
        await self._conditions.withdraw(pod.uid)
        outcome = await self._writer.bind(pod.pod.metadata, node_name)
        return None if outcome.result is Result.DONE else Status.failure(outcome.message)


class PluginApi:
    """Implements `contract.Api` over the fenced client."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def get(self, path: str) -> bytes:
        """Read an object."""
        return (await self._client.get(path)).body

    async def post(self, path: str, body: bytes) -> bytes:
        """Create an object or a subresource."""
        return (await self._client.post(path, body)).body

    async def put(self, path: str, body: bytes) -> bytes:
        """Replace an object."""
        return (await self._client.put(path, body)).body

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        """Change parts of an object."""
        return (await self._client.patch(path, body, kind=PatchType(content_type))).body

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        """Delete an object."""
        return (await self._client.delete(path, body)).body


class PodConditionWriter:
    """Implements `contract.ConditionWriter`: the latest condition of a pod wins, and one write a pod is under way.

    When a pod fails again before its last condition was written, only the newest is written after it. A nomination that
    was written and has not come back by the watch yet is known here, so that it is taken back all the same.
    """

    def __init__(self, writer: StatusWriter, tasks: TaskSet, clock: Clock, standstill: Standstill) -> None:
        self._writer = writer
        self._tasks = tasks
        self._clock = clock
        self._standstill = standstill
        self._next: dict[str, tuple[PodInfo, PodCondition | None, str | None]] = {}
        self._nominated: LRUCache[str, str] = LRUCache(_NOMINATIONS)
        self._under_way: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        """Set PodScheduled to False."""
        condition = PodCondition(type="PodScheduled", status="False", reason=reason, message=message)
        self._say(pod, condition, nominated_node)

    def nominated(self, pod: PodInfo, node_name: str) -> None:
        """Set the nomination alone."""
        self._say(pod, None, node_name)

    def _say(self, pod: PodInfo, condition: PodCondition | None, nominated_node: str | None) -> None:
        _, earlier_condition, earlier_node = self._next.get(pod.uid, (pod, None, None))
        node = earlier_node if nominated_node is None else nominated_node
        self._next[pod.uid] = (pod, condition or earlier_condition, node)
        if pod.uid not in self._under_way:
            given_up = asyncio.Event()
            write = self._standstill.pace(self._write(pod.uid, given_up))
            self._under_way[pod.uid] = self._tasks.spawn(write), given_up

    async def withdraw(self, uid: str) -> None:
        """Forget what is still to be said of this pod. Returns when nothing of it is on its way to the API any more."""
        self._next.pop(uid, None)
        if uid in self._under_way:
            task, given_up = self._under_way[uid]
            given_up.set()
            await asyncio.wait((task,))

    async def _write(self, uid: str, given_up: asyncio.Event) -> None:
        try:
            while (newest := self._next.pop(uid, None)) is not None:
                pod, condition, nominated_node = newest
                patch = plan_patch(
                    pod.pod,
                    now=self._clock.wall(),
                    condition=condition,
                    nominated_node=nominated_node,
                    written_node=self._nominated.get(uid),
                )
                if patch is not None:
                    if nominated_node is not None:
                        self._nominated[uid] = nominated_node
                    outcome = await self._writer.patch(pod.pod.metadata, patch, given_up=given_up)
                    failed = outcome.result is Result.FAILED and not given_up.is_set()
                    _tell(pod, outcome, logging.WARNING if failed else logging.DEBUG)
        finally:
            del self._under_way[uid]


def _limiter(limits: ClientConnectionConfiguration, machine: Machine) -> TokenBucket | None:
    if limits.qps is None or limits.qps <= 0:
        return None
    return TokenBucket(qps=limits.qps, burst=limits.burst or _DEFAULT_BURST, clock=machine.now)


def _tell(pod: PodInfo, outcome: Outcome, level: int) -> None:
    if outcome.result is not Result.DONE:
        log.log(level, "the PodScheduled condition of pod %s was not written: %s", pod.key, outcome.message)
