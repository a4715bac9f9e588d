"""Kubelets without containers, on an API that records what they write."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from bench.client import RefusedError
from tests.builders import PodDict, make_node, make_pod
from tests.conformance.kubelet import LEASES, RENEW_EVERY_SECONDS, Kubelets

NOW = datetime(2026, 11, 26, 2, 0, tzinfo=UTC)
WEB = "/api/v1/namespaces/default/pods/web"


@dataclass
class FakeApi:
    """An API that tells events to watches and keeps the requests of kubelets.

    Attributes:
        patched: path and change of each patch.
        removed: path and uid of each deletion.
        refuses: the status that every request is refused with.
    """

    patched: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    removed: list[tuple[str, str]] = field(default_factory=list)
    refuses: int | None = None
    events: dict[str, asyncio.Queue[bytes]] = field(default_factory=dict)

    async def patch(self, path: str, change: Mapping[str, Any], form: str = "") -> None:
        self._answer()
        self.patched.append((path, change))

    async def remove(self, path: str, uid: str) -> None:
        self._answer()
        self.removed.append((path, uid))

    async def watch(self, path: str, **query: str) -> AsyncIterator[list[bytes]]:
        queue = self.events.setdefault(path, asyncio.Queue())
        while True:
            yield [await queue.get()]

    async def tell(self, kind: str, obj: Mapping[str, Any], *, path: str = "/api/v1/pods") -> None:
        """An event, and time for the kubelets to do what it asks for."""
        queue = self.events.setdefault(path, asyncio.Queue())
        queue.put_nowait(msgspec.json.encode({"type": kind, "object": obj}))
        await settle()

    def _answer(self) -> None:
        if self.refuses is not None:
            raise RefusedError("refused", self.refuses)

    def phases(self) -> list[str]:
        return [change["status"]["phase"] for path, change in self.patched if path == f"{WEB}/status"]


class Clock:
    """Sleepers by the seconds that they sleep, which go on when the test says so."""

    def __init__(self) -> None:
        self.sleeping: dict[float, asyncio.Event] = {}

    async def sleep(self, seconds: float) -> None:
        if seconds:
            self.sleeping[seconds] = asyncio.Event()
            await self.sleeping[seconds].wait()

    async def wake(self, seconds: float) -> None:
        self.sleeping.pop(seconds).set()
        await settle()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@asynccontextmanager
async def kubelets(api: FakeApi, clock: Clock) -> AsyncIterator[Kubelets]:
    running = Kubelets(api, {"node-1": "127.0.1.1"}, now=lambda: NOW, sleep=clock.sleep)
    async with running:
        await settle()
        api.patched.clear()  # the first renewal
        yield running


def bound(*, node: str = "node-1") -> PodDict:
    pod = make_pod("web").node(node)
    pod["status"] = {"phase": "Pending"}
    return pod


def going(grace: int, sleep: int = 0) -> PodDict:
    pod = bound().terminating()
    pod["metadata"]["deletionGracePeriodSeconds"] = grace
    pod["spec"]["containers"][0]["lifecycle"] = {"preStop": {"sleep": {"seconds": sleep}}}
    return pod


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def test_a_bound_pod_runs_once_and_only_if_it_is_still_the_one_that_was_seen(api: FakeApi, clock: Clock) -> None:
    async with kubelets(api, clock):
        await api.tell("ADDED", bound())
        await api.tell("MODIFIED", bound())

    [(path, change)] = api.patched
    assert (path, change["metadata"]["uid"]) == (f"{WEB}/status", "pod-default-web")
    assert (change["status"]["phase"], change["status"]["hostIP"]) == ("Running", "127.0.1.1")


async def test_a_pod_on_a_node_of_others_is_let_be(api: FakeApi, clock: Clock) -> None:
    async with kubelets(api, clock) as running:
        await api.tell("ADDED", bound(node="elsewhere"))
        await running.raise_if_stopped()

    assert api.patched == []


async def test_a_deleted_pod_ends_when_its_hook_has_slept(api: FakeApi, clock: Clock) -> None:
    async with kubelets(api, clock):
        await api.tell("MODIFIED", going(80, 79))
        await api.tell("MODIFIED", going(80, 79))
        assert (api.phases(), api.removed) == ([], [])

        await clock.wake(79)

    assert api.phases() == ["Succeeded"]
    assert api.removed == [(WEB, "pod-default-web")]


async def test_a_pod_without_a_hook_ends_at_once(api: FakeApi, clock: Clock) -> None:
    async with kubelets(api, clock):
        await api.tell("MODIFIED", going(30))

    assert api.removed == [(WEB, "pod-default-web")]


async def test_a_pod_that_has_failed_stays_so_until_it_is_gone(api: FakeApi, clock: Clock) -> None:
    failed = going(30)
    failed["status"]["phase"] = "Failed"
    async with kubelets(api, clock):
        await api.tell("MODIFIED", failed)

    assert (api.phases(), api.removed) == ([], [(WEB, "pod-default-web")])


async def test_a_shorter_grace_period_takes_the_place_of_a_longer_one(api: FakeApi, clock: Clock) -> None:
    async with kubelets(api, clock):
        await api.tell("MODIFIED", going(80, 79))
        await api.tell("MODIFIED", going(5, 79))

        await clock.wake(79)
        assert api.removed == []
        await clock.wake(5)

    assert api.removed == [(WEB, "pod-default-web")]


async def test_a_pod_that_others_removed_is_forgotten(api: FakeApi, clock: Clock) -> None:
    async with kubelets(api, clock):
        await api.tell("MODIFIED", going(80, 79))
        await api.tell("DELETED", going(80, 79))

        await clock.wake(79)

    assert (api.phases(), api.removed) == ([], [])


@pytest.mark.parametrize("status", [404, 409])
async def test_kubelets_bear_that_a_pod_is_gone_before_they_are_done(api: FakeApi, clock: Clock, status: int) -> None:
    async with kubelets(api, clock) as running:
        api.refuses = status
        await api.tell("ADDED", bound())
        await api.tell("MODIFIED", going(30))
        await running.raise_if_stopped()

        api.refuses = None
        await api.tell("MODIFIED", going(10))

    assert api.removed == [(WEB, "pod-default-web")]


async def test_any_other_refusal_ends_the_kubelets(api: FakeApi, clock: Clock) -> None:
    async with kubelets(api, clock) as running:
        api.refuses = 403
        await api.tell("ADDED", bound())

        with pytest.raises(ExceptionGroup, match="unhandled"):
            await running.raise_if_stopped()


async def test_the_lease_of_a_node_is_renewed_again_and_again(api: FakeApi, clock: Clock) -> None:
    async with kubelets(api, clock):
        await clock.wake(RENEW_EVERY_SECONDS)
        await clock.wake(RENEW_EVERY_SECONDS)

    renewed = f"{LEASES}/node-1", {"spec": {"renewTime": "2026-11-26T02:00:00.000000Z"}}
    assert api.patched == [renewed, renewed]


async def test_a_resource_that_others_add_to_the_capacity_of_a_node_is_offered(api: FakeApi, clock: Clock) -> None:
    node = make_node("node-1")
    node["status"]["capacity"]["example.com/foo"] = "5"
    async with kubelets(api, clock):
        await api.tell("MODIFIED", node, path="/api/v1/nodes")
        node["status"]["allocatable"]["example.com/foo"] = "5"
        await api.tell("MODIFIED", node, path="/api/v1/nodes")

    assert api.patched == [("/api/v1/nodes/node-1/status", {"status": {"allocatable": {"example.com/foo": "5"}}})]
