"""The healer evicts the other members of a group that cannot continue, and no other pods."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import nullcontext
from typing import Any, cast

import msgspec
import pytest

from muster.framework.groups.book import GroupBook
from muster.framework.groups.healing import HEALING_POLICY
from muster.framework.groups.holds import HOLD
from muster.framework.model.meta import from_plain
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.runtime.standstill import Standstill
from muster.framework.runtime.waiting_pods import PodsAtPermit
from muster.operator.kube.client import ApiClient
from muster.operator.kube.errors import ApiError, TooManyRequests, Unreachable
from muster.operator.kube.informer import Informer, Timing
from muster.operator.kube.transport import Reply
from muster.operator.podgroups.ended_pods import NamedBy, ended_pods
from muster.operator.podgroups.healing import Healer
from muster.operator.podgroups.worker import WorkerPorts
from muster.plugins.coscheduling.api import PodGroup
from muster.plugins.coscheduling.args import CoschedulingArgs
from muster.plugins.coscheduling.book import PodGroups
from muster.plugins.coscheduling.kind import POD_GROUP_KIND
from tests.clocks import SettlingClock
from tests.coscheduling.objects import make_member

from .groups import Recorder, pod_group


class Evictions:
    """An API that takes evictions, but of pods that a budget protects, and has pods that have ended.

    Attributes:
        ended: the phases of those that are still there, by name.
        asked: the names of those that a list was asked for, one by one.
        refuses: whether a list of them fails.
    """

    def __init__(self) -> None:
        self.evicted: list[str] = []
        self.protected: set[str] = set()
        self.ended: dict[str, str] = {}
        self.asked: list[str] = []
        self.refuses = False
        self._broken = False
        self._events: asyncio.Queue[bytes | None] = asyncio.Queue()

    def break_the_watch(self) -> None:
        """It ends, and none can be opened."""
        self._broken = True
        self._events.put_nowait(None)

    def report(self, *events: tuple[str, str]) -> None:
        """A watch works, and reports pods that succeeded: what happened, and the name."""
        self._broken = False
        for kind, name in events:
            self._events.put_nowait(msgspec.json.encode({"type": kind, "object": _ended(name, "Succeeded")}) + b"\n")

    def compact(self) -> None:
        """A watch breaks off, as what it is to go on from is forgotten."""
        gone = {"kind": "Status", "status": "Failure", "reason": "Expired", "message": "too old", "code": 410}
        self._events.put_nowait(msgspec.json.encode({"type": "ERROR", "object": gone}) + b"\n")

    async def get(self, path: str, *, params: Mapping[str, str]) -> Reply:
        assert path.endswith("/pods")
        if self.refuses:
            raise Unreachable("connection refused")
        _, _, name = params["fieldSelector"].partition("metadata.name=")
        self.asked += [name] if name else []
        items = [_ended(name, self.ended[name])] if name in self.ended else []
        return Reply(200, msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": items}))

    async def stream(self, path: str, *, params: Mapping[str, str], silence: float) -> Any:
        if self._broken:
            raise Unreachable("connection refused")

        async def chunks() -> AsyncIterator[bytes]:
            while (event := await self._events.get()) is not None:
                yield event
            raise Unreachable("connection reset")

        return nullcontext(chunks())

    async def post(self, path: str, body: bytes) -> Reply:
        *_, name, subresource = path.split("/")
        assert subresource == "eviction"
        assert json.loads(body)["deleteOptions"]["preconditions"]["uid"] == f"uid-{name}"
        if name in self.protected:
            error: ApiError = TooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.")
            raise error
        self.evicted.append(name)
        return Reply(201, b"{}")


def watch(client: Evictions, clock: SettlingClock, groups: GroupBook[Any, Any], named_by: NamedBy) -> Informer[Any]:
    """The watch of pods that have ended."""
    timing = Timing(sleep=clock.sleep, random=lambda: 0.0, clock=clock.now)
    return ended_pods(cast("ApiClient", client), named_by, groups.follow_ended, timing)


class Stage:
    """A healer and a group of three, all bound."""

    def __init__(self, policy: str) -> None:
        self.clock, self.client, self.recorder = SettlingClock(), Evictions(), Recorder()
        self.groups = PodGroups(CoschedulingArgs(), self.clock, PodsAtPermit(Standstill()))
        self.leads = True
        ports = WorkerPorts(cast("ApiClient", self.client), self.recorder, self.clock, leading=lambda: self.leads)
        self.ended = watch(self.client, self.clock, self.groups, POD_GROUP_KIND.named_by)
        self.healer = Healer(self.groups, POD_GROUP_KIND, ports, self.ended)
        self.body = pod_group("train", namespace="default")
        self.body["metadata"]["annotations"] = {HEALING_POLICY: policy}
        self.groups.follow_group("default/train", from_plain(self.body, PodGroup))
        self.pods = {f"train-{n}": _bound(f"train-{n}") for n in range(3)}
        for pod in self.pods.values():
            self.groups.follow_pod(None, pod)

    def hold(self, reason: str | None) -> None:
        """The group is held for this reason, or resumed."""
        self.body["metadata"]["annotations"].pop(HOLD, None)
        if reason is not None:
            self.body["metadata"]["annotations"][HOLD] = reason
        self.groups.follow_group("default/train", from_plain(self.body, PodGroup))

    def lose(self, *names: str) -> None:
        for name in names:
            self.groups.follow_pod(self.pods[name], None)


@pytest.fixture
async def restarting() -> AsyncIterator[Stage]:
    stage = Stage("Restart")
    stage.healer.start()
    following = asyncio.create_task(stage.ended.run())
    yield stage
    following.cancel()
    await stage.healer.stop()


async def test_the_rest_is_evicted_when_a_loss_has_stood_for_a_moment(restarting: Stage) -> None:
    restarting.lose("train-1")
    await restarting.clock.advance(1)
    assert restarting.client.evicted == []
    await restarting.clock.advance(2)
    assert restarting.client.evicted == ["train-0", "train-2"]
    note = "1 of its pods were lost for good: the 2 left are evicted, so that all start anew"
    assert restarting.recorder.reported() == [("Warning", "Restarting", note)]


async def test_no_pod_is_evicted_of_a_group_whose_pods_are_all_deleted(restarting: Stage) -> None:
    restarting.lose("train-1")
    await restarting.clock.advance(1)
    restarting.lose("train-0", "train-2")
    await restarting.clock.advance(60)
    assert restarting.client.evicted == []


async def test_a_pod_that_a_budget_protects_is_asked_for_again(restarting: Stage) -> None:
    restarting.client.protected = {"train-2"}
    restarting.lose("train-1")
    await restarting.clock.advance(5)
    assert restarting.client.evicted == ["train-0"]
    assert restarting.recorder.reported()[-1][1] == "RestartDelayed"
    restarting.lose("train-0")
    restarting.client.protected.clear()
    await restarting.clock.advance(10)
    assert restarting.client.evicted == ["train-0", "train-2"]


async def test_the_next_leader_knows_which_members_were_lost_before(restarting: Stage) -> None:
    restarting.leads = False
    restarting.lose("train-1")
    await restarting.clock.advance(30)
    assert restarting.client.evicted == []
    restarting.leads = True
    await restarting.clock.advance(2)
    assert restarting.client.evicted == ["train-0", "train-2"]


async def test_no_pod_is_evicted_while_the_report_that_a_member_succeeded_is_late(restarting: Stage) -> None:
    restarting.client.ended["train-1"] = "Succeeded"
    restarting.lose("train-1")
    await restarting.clock.advance(60)
    assert restarting.client.evicted == []
    restarting.lose("train-2")
    await restarting.clock.advance(5)
    assert restarting.client.evicted == ["train-0"]


async def test_members_that_seem_lost_are_asked_about_in_the_same_order_in_every_process(restarting: Stage) -> None:
    names = [*restarting.pods]
    restarting.client.ended = dict.fromkeys(names, "Succeeded")
    restarting.lose(*reversed(names))
    await restarting.clock.advance(5)
    assert restarting.client.asked == names


@pytest.mark.parametrize(("name", "phase"), [("train-1", "Failed"), ("another", "Succeeded")])
async def test_the_rest_is_evicted_when_it_did_not_succeed(restarting: Stage, name: str, phase: str) -> None:
    restarting.client.ended[name] = phase
    restarting.lose("train-1")
    await restarting.clock.advance(5)
    assert restarting.client.evicted == ["train-0", "train-2"]


async def test_no_pod_is_evicted_while_the_api_does_not_answer_how_a_member_ended(restarting: Stage) -> None:
    await restarting.clock.advance(1)
    restarting.client.refuses = True
    restarting.lose("train-1")
    await restarting.clock.advance(60)
    assert restarting.client.evicted == []
    restarting.client.refuses = False
    await restarting.clock.advance(10)
    assert restarting.client.evicted == ["train-0", "train-2"]


async def test_no_pod_is_evicted_for_a_member_that_succeeded_and_was_deleted_while_the_watch_was_broken(
    restarting: Stage,
) -> None:
    await restarting.clock.advance(1)
    restarting.client.break_the_watch()
    restarting.lose("train-1")
    await restarting.clock.advance(60)
    assert restarting.client.evicted == []
    restarting.client.report(("ADDED", "train-1"), ("DELETED", "train-1"))
    await restarting.clock.advance(60)
    assert restarting.client.evicted == []


async def test_a_loss_counts_once_the_watch_works_again_and_knows_of_no_success(restarting: Stage) -> None:
    await restarting.clock.advance(1)
    restarting.client.break_the_watch()
    restarting.lose("train-1")
    await restarting.clock.advance(60)
    restarting.client.report(("ADDED", "stranger"))
    await restarting.clock.advance(60)
    assert restarting.client.evicted == ["train-0", "train-2"]


async def test_a_loss_counts_when_all_was_listed_after_a_compaction_before_the_watch_has_reported_anything(
    restarting: Stage,
) -> None:
    await restarting.clock.advance(1)
    restarting.client.compact()
    restarting.client.compact()
    await restarting.clock.advance(30)
    restarting.lose("train-1")
    await restarting.clock.advance(5)
    assert restarting.client.evicted == ["train-0", "train-2"]


async def test_no_pod_is_evicted_while_the_api_refuses_requests(restarting: Stage) -> None:
    restarting.client.refuses = True
    restarting.lose("train-1")
    await restarting.clock.advance(60)
    assert restarting.client.evicted == []


def _ended(name: str, phase: str) -> dict[str, Any]:
    labels = {"scheduling.x-k8s.io/pod-group": "train"}
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "2", "labels": labels}
    return {"metadata": meta, "status": {"phase": phase}}


def _bound(name: str) -> PodInfo:
    pod = make_member(name, "train", cpu="1").node("one")
    pod["metadata"]["uid"] = f"uid-{name}"
    return PodInfo(from_plain(pod, Pod))


async def test_nobody_is_evicted_while_the_group_is_held_and_the_rest_is_when_it_is_resumed(restarting: Stage) -> None:
    restarting.hold("rack 4 moves")
    restarting.lose("train-1")
    await restarting.clock.advance(60)
    assert restarting.client.evicted == []
    restarting.hold(None)
    await restarting.clock.advance(12)
    assert restarting.client.evicted == ["train-0", "train-2"]
