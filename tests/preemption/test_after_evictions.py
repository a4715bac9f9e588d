"""Pods that wait for their victims: those that can start do, and none is forgotten."""

import pytest

from muster.framework.contract import Status
from muster.framework.model.pod_info import PodInfo
from muster.plugins.defaultpreemption.plugin import DefaultPreemption
from tests.builders import make_node, make_pod
from tests.preemption.world import EvictingStage, urgent

FIRST, SECOND = "default/first", "default/second"


def waiting(stage: EvictingStage, key: str) -> PodInfo:
    """The pod as the queue has it."""
    queued = stage.engine.queue.contents.get(stage.uid(key))
    assert queued is not None
    return queued.info


async def test_a_preemptor_gets_its_capacity_while_an_equal_one_still_waits() -> None:
    stage = EvictingStage()
    stage.fill("one", "two")
    stage.put_pod(urgent("first"), urgent("second"))
    await stage.settle()
    nominated = {key: stage.engine.nominator.nominated_node(stage.uid(key)) for key in (FIRST, SECOND)}
    assert sorted(nominated.values()) == ["one", "two"]

    stage.drop_pod(f"default/{nominated[SECOND]}-0")
    await stage.wait(10.0)

    assert stage.binds == [(SECOND, nominated[SECOND])]
    assert stage.place(FIRST) == "unschedulable"
    await stage.close()


async def test_a_pod_gated_during_its_evictions_is_admitted_when_they_end() -> None:
    stage = EvictingStage()
    stage.fill("one")
    stage.answers.clear()
    stage.put_pod(urgent("first"))
    await stage.settle()
    stage.engine.queue.activate([waiting(stage, FIRST)])
    await stage.settle()
    assert stage.place(FIRST) == "gated"

    stage.answers.set()
    await stage.settle()
    stage.drop_pod("default/one-0")
    await stage.wait(10.0)

    assert stage.binds == [(FIRST, "one")]
    await stage.close()


async def test_a_pod_whose_victims_ended_during_its_evictions_is_admitted_when_these_end() -> None:
    stage = EvictingStage()
    stage.fill("one", each=2)
    stage.answers.clear()
    stage.put_pod(urgent("first"))
    await stage.settle()
    stage.drop_pod("default/one-0")
    stage.drop_pod("default/one-1")
    await stage.settle()
    assert stage.place(FIRST) == "gated"

    stage.answers.set()
    await stage.settle()

    assert stage.binds == [(FIRST, "one")]
    await stage.close()


async def test_pods_that_go_meanwhile_do_not_have_a_pod_checked_whose_evictions_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked: list[str] = []
    check = DefaultPreemption.pre_enqueue

    def noting(plugin: DefaultPreemption, pod: PodInfo) -> Status | None:
        checked.append(pod.key)
        return check(plugin, pod)

    monkeypatch.setattr(DefaultPreemption, "pre_enqueue", noting)
    stage = EvictingStage()
    stage.fill("one")
    stage.put_node(make_node("small", cpu="1"))
    others = [f"other-{number}" for number in range(3)]
    stage.put_pod(*(make_pod(name).node("small") for name in others))
    stage.answers.clear()
    stage.put_pod(urgent("first"))
    await stage.settle()
    stage.engine.queue.activate([waiting(stage, FIRST)])
    await stage.settle()
    checked.clear()

    for name in others:
        stage.drop_pod(f"default/{name}")
    await stage.settle()

    assert (stage.place(FIRST), checked) == ("gated", [])
    await stage.close()


async def test_a_refused_eviction_is_tried_again_after_a_while_and_not_at_once() -> None:
    stage = EvictingStage()
    stage.fail_delete = {"default/one-0"}
    stage.fill("one")
    stage.put_pod(urgent("first"))
    await stage.settle()
    await stage.wait(1.9)
    assert stage.deletions == {"default/one-0": 1}

    await stage.wait(0.2)
    assert stage.deletions == {"default/one-0": 2}

    stage.fail_delete.clear()
    await stage.wait(2.1)
    stage.drop_pod("default/one-0")
    await stage.wait(10.0)
    assert stage.binds == [(FIRST, "one")]
    await stage.close()


async def test_other_free_capacity_is_used_while_victims_terminate() -> None:
    stage = EvictingStage()
    stage.fill("one")
    stage.put_pod(urgent("first"))
    await stage.settle()

    stage.put_node(make_node("new", cpu="2"))
    await stage.wait(10.0)

    assert stage.binds == [(FIRST, "new")]
    await stage.close()
