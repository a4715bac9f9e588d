"""The elector: which process leads, and which may still write."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec
import pytest

from muster.operator.kube.errors import Conflict, NotFound, Unreachable
from muster.operator.kube.transport import Reply
from muster.operator.leader.elector import ElectionClock, Elector, Terms
from muster.operator.leader.record import Lease


class Clock:
    """Virtual time: sleeping moves it, and runs what is due at each moment."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.due: list[tuple[float, Callable[[], None]]] = []

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        for moment, action in [item for item in self.due if item[0] <= self.seconds]:
            self.due.remove((moment, action))
            action()
        await asyncio.sleep(0)

    async def until(self, moment: float) -> None:
        """Return when others have slept past the moment."""
        passed = asyncio.Event()
        self.at(moment, passed.set)
        await passed.wait()

    def at(self, moment: float, action: Callable[[], None]) -> None:
        self.due.append((moment, action))

    def time(self) -> ElectionClock:
        return ElectionClock(now=self.now, wall=self.now, sleep=self.sleep, random=lambda: 0.0)


@dataclass
class Leases:
    """The API of one Lease, with optimistic concurrency, that can be cut off.

    The next `conflicts` updates come too late, the next `hangs` reads are never answered.
    """

    now: Callable[[], float]
    lease: Lease | None = None
    written_at: float = 0.0
    version: int = 0
    cut_off: bool = False
    conflicts: int = 0
    hangs: int = 0
    writes: list[str | None] = field(default_factory=list)

    async def get(self, path: str) -> Reply:
        self._reach()
        if self.hangs:
            self.hangs -= 1
            await asyncio.Event().wait()
        if self.lease is None:
            raise NotFound("not found", status=404)
        return Reply(200, msgspec.json.encode(self.lease))

    async def post(self, path: str, body: bytes) -> Reply:
        self._reach()
        assert path == "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
        if self.lease is not None:
            raise Conflict("already exists", status=409)
        return self._keep(body)

    async def put(self, path: str, body: bytes) -> Reply:
        self._reach()
        if self.conflicts:
            self.conflicts -= 1
            raise Conflict("the object has been modified", status=409)
        sent = msgspec.json.decode(body, type=Lease)
        if self.lease is None or sent.metadata.resource_version != str(self.version):
            raise Conflict("the object has been modified", status=409)
        return self._keep(body)

    def _keep(self, body: bytes) -> Reply:
        self.version += 1
        self.written_at = self.now()
        self.lease = msgspec.json.decode(body, type=Lease)
        self.lease.metadata.resource_version = str(self.version)
        self.writes.append(self.lease.spec.holder_identity)
        return Reply(200, msgspec.json.encode(self.lease))

    def _reach(self) -> None:
        if self.cut_off:
            raise Unreachable("no answer")

    @property
    def holder(self) -> str | None:
        assert self.lease is not None
        return self.lease.spec.holder_identity


def elector(leases: Leases, clock: Clock, identity: str = "a") -> Elector:
    return Elector(Terms("muster", "kube-system", identity), leases, clock.time())  # type: ignore[arg-type]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def leases(clock: Clock) -> Leases:
    return Leases(clock.now)


@pytest.fixture
def running() -> Iterator[list[asyncio.Task[None]]]:
    tasks: list[asyncio.Task[None]] = []
    yield tasks
    for task in tasks:
        task.cancel()


async def run_until_elected(one: Elector, running: list[asyncio.Task[None]]) -> None:
    running.append(asyncio.create_task(one.run()))
    await one.elected.wait()


async def test_the_first_to_come_creates_the_lease_and_leads(leases: Leases, clock: Clock) -> None:
    one = elector(leases, clock)
    assert not one.may_write()
    task = asyncio.create_task(one.run())
    await one.elected.wait()
    assert leases.holder == "a"
    assert one.may_write()
    assert leases.lease is not None
    assert leases.lease.spec.lease_duration_seconds == 15
    task.cancel()


async def test_a_standby_waits_until_the_holder_has_been_silent_for_its_duration(
    leases: Leases, clock: Clock, running: list[asyncio.Task[None]]
) -> None:
    await run_until_elected(elector(leases, clock, "a"), running)
    running.pop().cancel()
    began = clock.now()
    two = elector(leases, clock, "b")
    await run_until_elected(two, running)
    assert leases.holder == "b"
    assert 15 <= clock.now() - began <= 15 + 2 * 2.4
    assert leases.lease is not None
    assert leases.lease.spec.lease_transitions == 1


async def test_a_leader_that_cannot_renew_gives_up_at_its_deadline(
    leases: Leases, clock: Clock, running: list[asyncio.Task[None]]
) -> None:
    one = elector(leases, clock)
    await run_until_elected(one, running)
    leases.cut_off = True
    await running.pop()
    assert not one.may_write()
    assert 10 <= clock.now() - leases.written_at <= 12


async def test_a_short_outage_costs_nothing(leases: Leases, clock: Clock, running: list[asyncio.Task[None]]) -> None:
    one = elector(leases, clock)
    await run_until_elected(one, running)
    began = clock.now()
    leases.cut_off = True
    clock.at(began + 6, lambda: setattr(leases, "cut_off", False))
    clock.at(began + 60, lambda: setattr(leases, "cut_off", True))
    await running.pop()
    assert clock.now() - began > 60


async def test_a_leader_that_was_frozen_past_its_deadline_may_not_write_when_it_thaws(
    leases: Leases, clock: Clock, running: list[asyncio.Task[None]]
) -> None:
    one = elector(leases, clock)
    await run_until_elected(one, running)
    clock.seconds += 10.5
    assert not one.may_write()


async def test_a_leader_whose_lease_was_taken_ends(
    leases: Leases, clock: Clock, running: list[asyncio.Task[None]]
) -> None:
    one = elector(leases, clock)
    await run_until_elected(one, running)
    assert leases.lease is not None
    spec = msgspec.structs.replace(leases.lease.spec, holder_identity="b", renew_time="2026-01-01T00:00:00.000000Z")
    leases.lease.spec = spec
    leases.version += 1
    leases.lease.metadata.resource_version = str(leases.version)
    await running.pop()
    assert not one.may_write()
    assert leases.holder == "b"


async def test_a_released_lease_is_free_at_once(
    leases: Leases, clock: Clock, running: list[asyncio.Task[None]]
) -> None:
    one = elector(leases, clock, "a")
    await run_until_elected(one, running)
    running.pop().cancel()
    await one.release()
    assert leases.holder == ""
    assert not one.may_write()
    began = clock.now()
    await run_until_elected(elector(leases, clock, "b"), running)
    assert clock.now() - began <= 2.4


async def test_a_standby_that_ends_writes_nothing(leases: Leases, clock: Clock) -> None:
    leading = elector(leases, clock, "a")
    task = asyncio.create_task(leading.run())
    await leading.elected.wait()
    task.cancel()
    before = list(leases.writes)
    await elector(leases, clock, "b").release()
    assert leases.writes == before


async def test_of_two_that_try_at_once_one_leads(
    leases: Leases, clock: Clock, running: list[asyncio.Task[None]]
) -> None:
    one, two = elector(leases, clock, "a"), elector(leases, clock, "b")
    running += [asyncio.create_task(one.run()), asyncio.create_task(two.run())]
    for _ in range(50):
        await asyncio.sleep(0)
        assert not (one.may_write() and two.may_write())
    assert one.may_write() or two.may_write()


async def test_a_standby_looks_again_just_when_the_lease_runs_out(
    leases: Leases, clock: Clock, running: list[asyncio.Task[None]]
) -> None:
    await run_until_elected(elector(leases, clock, "a"), running)
    running.pop().cancel()
    clock.seconds += 1.5
    began = clock.now()
    await run_until_elected(elector(leases, clock, "b"), running)
    assert leases.written_at - began == 15


async def test_a_leader_survives_a_concurrent_change_of_its_lease(
    leases: Leases, clock: Clock, running: list[asyncio.Task[None]]
) -> None:
    one = elector(leases, clock)
    await run_until_elected(one, running)
    leases.conflicts = 2
    await clock.until(clock.now() + 30)
    assert leases.conflicts == 0
    assert one.may_write()
    assert not running[0].done()


async def test_a_leader_survives_that_one_answer_never_comes(
    leases: Leases, clock: Clock, running: list[asyncio.Task[None]]
) -> None:
    terms = Terms("muster", "kube-system", "a", duration=0.06, renew_deadline=0.04, retry_period=0.01)
    one = Elector(terms, leases, clock.time())  # type: ignore[arg-type]
    await run_until_elected(one, running)
    leases.hangs = 1
    await clock.until(clock.now() + 1)
    assert leases.hangs == 0
    assert one.may_write()


async def test_labels_that_others_wrote_on_the_lease_stay(
    leases: Leases, clock: Clock, running: list[asyncio.Task[None]]
) -> None:
    await run_until_elected(elector(leases, clock), running)
    assert leases.lease is not None
    leases.lease.metadata.labels = {"team": "batch"}
    leases.lease.metadata.owner_references = [msgspec.Raw(b'{"kind":"Deployment","name":"muster"}')]
    renewed = leases.version
    await clock.until(clock.now() + 4)
    assert leases.version > renewed
    assert leases.lease.metadata.labels == {"team": "batch"}
    assert msgspec.json.encode(leases.lease.metadata.owner_references) == b'[{"kind":"Deployment","name":"muster"}]'
