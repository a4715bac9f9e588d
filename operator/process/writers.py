"""All parts of a process that write to the API, on one connection, including the engine's ports for writing."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from muster.framework.contract import MERGE_PATCH, Status
from muster.framework.scheduler.ports import Ports
from muster.operator.kube.bindings import BindingWriter
from muster.operator.kube.client import ApiClient, PatchType
from muster.operator.kube.errors import NotFound
from muster.operator.kube.events import EventRecorder
from muster.operator.kube.limiter import TokenBucket
from muster.operator.kube.outcome import Result
from muster.operator.kube.pod_status import StatusWriter
from muster.operator.kube.retry import Retrier

from .conditions import PodConditionWriter
from .tasks import TaskSet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from muster.framework.config import ClientConnectionConfiguration
    from muster.framework.contract import Lister
    from muster.framework.contract.extender import Extender
    from muster.framework.metrics import SchedulerMetrics
    from muster.framework.model.pod_info import PodInfo
    from muster.framework.runtime.standstill import Standstill
    from muster.operator.kube.client import RoundTripper

    from .machine import Machine

_DEFAULT_BURST = 100
"""kube-scheduler's burst for a configuration that sets only `qps`."""


class Writers:
    """Clients and writers over one connection.

    Attributes:
        client: the client for a scheduler's writes, which are fenced, and for reading.
        tasks: the binding cycles in progress, and other tasks that the engine and plugins spawned.
        conditions: writes PodScheduled conditions.
        recorder: writes Events with a separate client, so that they never delay a Binding.
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
        """`may_write` is called before each fenced write; `wake` is called when a pod may have become ready.

        `standstill` paces the writes. `on_write` is called with verb and resource of each write, see `ApiClient`.
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
        self.tasks = TaskSet()
        self.conditions = PodConditionWriter(StatusWriter(self.client, retrier), clock, standstill)
        self._binder = ApiBinder(BindingWriter(self.client, retrier), self.conditions)

    def ports(
        self,
        metrics: SchedulerMetrics,
        listers: Mapping[str, Lister],
        extenders: Sequence[Extender],
        *,
        may_report: Callable[[], bool],
    ) -> Ports:
        """The engine's ports over these writers."""
        return Ports(
            clock=self._clock,
            random=self._machine.random,
            choose=self._machine.choose,
            spawn=self.tasks.spawn,
            wake=self._wake,
            binder=self._binder,
            conditions=self.conditions,
            events=self.recorder.for_profile,
            listers=listers,
            metrics=metrics,
            api=PluginApi(self.client),
            extenders=extenders,
            standstill=self._standstill,
            may_report=may_report,
        )

    async def drain(self, *, within: float) -> int:
        """Let running tasks end, then write the remaining conditions and Events, for `within` seconds each.

        Returns the number of writes that were cut off, without Events.
        """
        tasks = await self.tasks.drain(within=within)
        statuses, _ = await asyncio.gather(self.conditions.drain(within=within), self.recorder.drain(within=within))
        return tasks + statuses


class ApiBinder:
    """Implements `contract.Binder`."""

    def __init__(self, writer: BindingWriter, conditions: PodConditionWriter) -> None:
        self._writer = writer
        self._conditions = conditions

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Bind the pod; success when the API accepted it. Conditions not written yet are dropped."""
        # A status write still in flight could arrive after the Binding and report a bound pod as unschedulable.
        await self._conditions.withdraw(pod.uid)
        outcome = await self._writer.bind(pod.pod.metadata, node_name)
        match outcome.result:
            case Result.DONE:
                return None
            case Result.GONE:
                return Status.failure(error=NotFound(outcome.message, status=HTTPStatus.NOT_FOUND))
            case _:
                return Status.failure(outcome.message)


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


def _limiter(limits: ClientConnectionConfiguration, machine: Machine) -> TokenBucket | None:
    if limits.qps is None or limits.qps <= 0:
        return None
    return TokenBucket(qps=limits.qps, burst=limits.burst or _DEFAULT_BURST, clock=machine.now)
