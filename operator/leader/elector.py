"""The elector: acquires a lease, renews it, and knows at every moment whether this process may still write.

The process starts it with the informers and schedules once `elected` is set. `run` returns when the lease is lost, and
the process then ends; a restart is the only way back, because all of its state may be wrong.

Fencing: `may_write` depends on the time of the last renewal that the API server is known to have accepted, on a clock
that also runs while the process is stopped. So a leader that was frozen for longer than its lease notices before its
next write, not after its next renewal.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import random
from typing import Protocol

import msgspec

from muster.operator.kube.client import ApiClient
from muster.operator.kube.errors import ApiError, NotFound
from muster.operator.kube.transport import Reply

from .record import Lease, LeaseMeta, ObservedLease, released, taken

log = logging.getLogger(__name__)

_JITTER = 1.2
_WATCHDOG_SECONDS = 20.0
Write = Callable[[str, bytes], Awaitable[Reply]]
_GROUP = "/apis/coordination.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Terms:
    """The lease and the durations of the election, in seconds; kube-scheduler's defaults are 15, 10 and 2.

    Attributes:
        name, namespace: the name and namespace of the Lease.
        identity: the unique identity of this process.
        duration: the time that other processes wait after the last renewal that they saw.
        renew_deadline: the time for which a leader tries to renew the lease before it ends.
        retry_period: the time between tries.
    """

    name: str
    namespace: str
    identity: str
    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


@dataclass(frozen=True, slots=True)
class ElectionClock:
    """The time and the randomness of the elector; tests inject others."""

    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    random: Callable[[], float] = random


class Leadership(Protocol):
    """The leadership of a process. `elected` is set once the process leads."""

    name: str
    elected: asyncio.Event

    def may_write(self) -> bool:
        """Whether the process may write at this moment."""
        ...

    def trouble(self) -> str | None:
        """The problem with the election; None without a problem."""
        ...

    async def run(self) -> None:
        """Take part in the election; returns when leadership is lost."""
        ...

    async def release(self) -> None:
        """Release the leadership."""
        ...


class Alone:
    """Leadership without an election, for a single process."""

    name = ""

    def __init__(self) -> None:
        self.elected = asyncio.Event()
        self.elected.set()

    def may_write(self) -> bool:
        """Return True."""
        return True

    def trouble(self) -> None:
        """Return None."""

    async def run(self) -> None:
        """Wait until cancelled, because leadership is never lost."""
        await asyncio.Event().wait()

    async def release(self) -> None:
        """Do nothing."""


class Elector:
    """Takes part in the election for one lease. `client` must not be fenced by this elector.

    Attributes:
        elected: set once the lease was acquired.
    """

    def __init__(self, terms: Terms, client: ApiClient, time: ElectionClock | None = None) -> None:
        self._terms = terms
        self.name = terms.name
        self._client = client
        self._time = time or ElectionClock()
        self._observed = ObservedLease()
        self._renewed: float | None = None
        self.elected = asyncio.Event()

    def may_write(self) -> bool:
        """Whether no other process can hold the lease yet."""
        return self._renewed is not None and self._time.now() < self._renewed + self._terms.renew_deadline

    def trouble(self) -> str | None:
        """The problem if the last renewal is long past its deadline, but the leader has not ended; None otherwise."""
        if self._renewed is None or self._time.now() < self._renewed + self._terms.renew_deadline + _WATCHDOG_SECONDS:
            return None
        return f"failed election to renew leadership on lease {self._terms.name}"

    async def run(self) -> None:
        """Acquire the lease and hold it; returns when it is lost."""
        log.info("attempting to acquire leader lease %s/%s", self._terms.namespace, self._terms.name)
        while not await self._try():
            await self._time.sleep(self._pause())
        log.info("successfully acquired lease %s/%s", self._terms.namespace, self._terms.name)
        self.elected.set()
        while self.may_write():
            await self._time.sleep(self._terms.retry_period)
            await self._try()
        self._renewed = None
        log.error("leaderelection lost")

    async def release(self) -> None:
        """Release the lease, if it is held, so that a standby need not wait until it expires."""
        if not self.may_write():
            return
        # Writing ends before the request: as soon as the server has it, another process may lead, whether or not its
        # answer arrives.
        self._renewed = None
        try:
            async with asyncio.timeout(self._terms.retry_period):
                lease = await self._read()
                if lease is not None and lease.spec.holder_identity == self._terms.identity:
                    lease.spec = released(lease.spec, wall=self._time.wall())
                    await self._client.put(self._path, msgspec.json.encode(lease))
        except (ApiError, TimeoutError) as error:
            log.warning("the lease could not be released: %s", error)

    def _pause(self) -> float:
        """The pause of a standby: slightly more than the retry period, but not past the lease's expiry."""
        pause = self._terms.retry_period * (1 + self._time.random() * (_JITTER - 1))
        left = self._observed.runs_out() - self._time.now()
        return left if 0 < left < pause else pause

    async def _try(self) -> bool:
        """One attempt to acquire or renew. The time that counts is the one before the request went out."""
        # Others count from the time at which they see the renewal, which is later; so this process stops writing first.
        began = self._time.now()
        try:
            async with asyncio.timeout(self._patience(began)):
                held = await self._acquire_or_renew()
        except (ApiError, TimeoutError, msgspec.MsgspecError) as error:
            log.warning("error retrieving or updating the lease: %s", str(error) or type(error).__name__)
            return False
        self._renewed = began if held else None
        return held

    def _patience(self, began: float) -> float:
        """The limit for a try: half of the deadline, so that a leader does not lose its lease by one lost answer."""
        half = self._terms.renew_deadline / 2
        return half if self._renewed is None else min(half, self._renewed + self._terms.renew_deadline - began)

    async def _acquire_or_renew(self) -> bool:
        """Whether this process has the lease now. Raises Conflict if another client wrote it at the same time."""
        terms = self._terms
        lease = await self._read()
        if lease is None:
            lease = Lease(LeaseMeta(terms.name, terms.namespace))
            lease.spec = taken(lease.spec, terms.identity, duration=terms.duration, wall=self._time.wall())
            await self._write(self._client.post, self._path.rpartition("/")[0], lease)
            return True
        now = self._time.now()
        self._observed.see(lease.spec, now)
        if not self._observed.free_for(terms.identity, now):
            return False
        lease.spec = taken(lease.spec, terms.identity, duration=terms.duration, wall=self._time.wall())
        await self._write(self._client.put, self._path, lease)
        return True

    async def _write(self, write: Write, path: str, lease: Lease) -> None:
        reply = await write(path, msgspec.json.encode(lease))
        self._observed.see(msgspec.json.decode(reply.body, type=Lease).spec, self._time.now())

    async def _read(self) -> Lease | None:
        try:
            reply = await self._client.get(self._path)
        except NotFound:
            return None
        return msgspec.json.decode(reply.body, type=Lease)

    @property
    def _path(self) -> str:
        return f"{_GROUP}/namespaces/{self._terms.namespace}/leases/{self._terms.name}"
