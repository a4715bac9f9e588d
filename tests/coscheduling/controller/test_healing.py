"""The healer evicts what is left of a group that cannot go on, and nobody else."""

import json
from collections.abc import AsyncIterator
from typing import cast

import pytest

from muster.framework.model.meta import from_plain
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.runtime.standstill import Standstill
from muster.framework.runtime.waiting import WaitingPods
from muster.operator.kube.client import ApiClient
from muster.operator.kube.errors import ApiError, TooManyRequests
from muster.operator.kube.transport import Reply
from muster.operator.podgroups.healing import Healer
from muster.operator.podgroups.worker import WorkerPorts
from muster.plugins.coscheduling.api import API_VERSION, PodGroup
from muster.plugins.coscheduling.args import CoschedulingArgs
from muster.plugins.coscheduling.groups import PodGroups
from tests.coscheduling.objects import make_member

from .groups import Clock, Recorder, pod_group


class Evictions:
    """Takes evictions, but of pods that a budget protects."""

    def __init__(self) -> None:
        self.evicted: list[str] = []
        self.protected: set[str] = set()

    async def post(self, path: str, body: bytes) -> Reply:
        *_, name, subresource = path.split("/")
        assert subresource == "eviction"
        assert json.loads(body)["deleteOptions"]["preconditions"]["uid"] == f"uid-{name}"
        if name in self.protected:
            error: ApiError = TooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.")
            raise error
        self.evicted.append(name)
        return Reply(201, b"{}")


class Stage:
    """A healer and a group of three, all bound."""

    def __init__(self, policy: str) -> None:
        self.clock, self.client, self.recorder = Clock(), Evictions(), Recorder()
        self.groups = PodGroups(CoschedulingArgs(), self.clock, WaitingPods(Standstill()))
        self.leads = True
        ports = WorkerPorts(cast("ApiClient", self.client), self.recorder, self.clock, leading=lambda: self.leads)
        self.healer = Healer(self.groups, ports, API_VERSION)
        body = pod_group("train", namespace="default")
        body["metadata"]["annotations"] = {"muster-scheduler.io/healing-policy": policy}
        self.groups.follow_group("default/train", from_plain(body, PodGroup))
        self.pods = {f"train-{n}": _bound(f"train-{n}") for n in range(3)}
        for pod in self.pods.values():
            self.groups.follow_pod(None, pod)

    def lose(self, *names: str) -> None:
        for name in names:
            self.groups.follow_pod(self.pods[name], None)


@pytest.fixture
async def restarting() -> AsyncIterator[Stage]:
    stage = Stage("Restart")
    stage.healer.start()
    yield stage
    await stage.healer.stop()


async def test_the_rest_is_evicted_when_a_loss_has_stood_for_a_moment(restarting: Stage) -> None:
    restarting.lose("train-1")
    await restarting.clock.advance(1)
    assert restarting.client.evicted == []
    await restarting.clock.advance(2)
    assert restarting.client.evicted == ["train-0", "train-2"]
    note = "1 of its pods were lost for good: the 2 left are evicted, so that all start anew"
    assert restarting.recorder.told() == [("Warning", "Restarting", note)]


async def test_nobody_is_evicted_of_a_group_whose_pods_all_go(restarting: Stage) -> None:
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
    assert restarting.recorder.told()[-1][1] == "RestartDelayed"
    restarting.lose("train-0")
    restarting.client.protected.clear()
    await restarting.clock.advance(10)
    assert restarting.client.evicted == ["train-0", "train-2"]


async def test_whoever_leads_next_knows_what_was_lost_before(restarting: Stage) -> None:
    restarting.leads = False
    restarting.lose("train-1")
    await restarting.clock.advance(30)
    assert restarting.client.evicted == []
    restarting.leads = True
    await restarting.clock.advance(2)
    assert restarting.client.evicted == ["train-0", "train-2"]


def _bound(name: str) -> PodInfo:
    pod = make_member(name, "train", cpu="1").node("one")
    pod["metadata"]["uid"] = f"uid-{name}"
    return PodInfo(from_plain(pod, Pod))
