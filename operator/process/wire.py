"""Everything of a process that writes to the API, made of one connection."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from muster.framework.scheduler.ports import Ports
from muster.operator.kube.bindings import BindingWriter
from muster.operator.kube.client import ApiClient
from muster.operator.kube.events import EventRecorder
from muster.operator.kube.limiter import TokenBucket
from muster.operator.kube.pod_status import StatusWriter
from muster.operator.kube.retry import Retrier
from muster.operator.kube.transport import Transport

from .tasks import TaskSet
from .writers import ApiBinder, ConditionWriter, PluginApi

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from muster.framework.config import ClientConnectionConfiguration
    from muster.framework.contract import Clock, Lister
    from muster.framework.contract.observer import Observer

_DEFAULT_BURST = 100
"""kube-scheduler's, for a configuration that sets `qps` alone."""


class Wire:
    """Clients and writers.

    Attributes:
        client: for all that a scheduler writes, and for reading; its writes are fenced.
        bindings: the binding cycles under way.
        recorder: writes events, with a client of its own, so that they never keep a Binding waiting.
    """

    def __init__(
        self,
        transport: Transport,
        limits: ClientConnectionConfiguration,
        *,
        clock: Clock,
        may_write: Callable[[], bool],
        wake: Callable[[], None],
    ) -> None:
        """`may_write` is asked before each fenced write; `wake` is called when there may be something to decide."""
        retrier = Retrier()
        self._clock = clock
        self._wake = wake
        self.client = ApiClient(transport, limiter=_limiter(limits), may_write=may_write)
        self.recorder = EventRecorder(ApiClient(transport, limiter=_limiter(limits), may_write=may_write))
        self.bindings = TaskSet()
        self._statuses = TaskSet()
        self._conditions = ConditionWriter(StatusWriter(self.client, retrier), self._statuses, clock)
        self._binder = ApiBinder(BindingWriter(self.client, retrier), self._conditions)

    def ports(self, observer: Observer, listers: Mapping[str, Lister]) -> Ports:
        """The engine's ports over these writers."""
        return Ports(
            clock=self._clock,
            random=random.random,
            choose=random.randrange,
            spawn=self.bindings.spawn,
            wake=self._wake,
            binder=self._binder,
            conditions=self._conditions,
            events=self.recorder.for_profile,
            listers=listers,
            observer=observer,
            api=PluginApi(self.client),
        )

    async def drain(self, *, within: float) -> int:
        """Let bindings under way end, then what is to be told of them and others, for `within` seconds each.

        Returns how many writes were cut off, events apart.
        """
        bindings = await self.bindings.drain(within=within)
        statuses, _ = await asyncio.gather(self._statuses.drain(within=within), self.recorder.drain(within=within))
        return bindings + statuses


def _limiter(limits: ClientConnectionConfiguration) -> TokenBucket | None:
    if limits.qps is None or limits.qps <= 0:
        return None
    return TokenBucket(qps=limits.qps, burst=limits.burst or _DEFAULT_BURST)
