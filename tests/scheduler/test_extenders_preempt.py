"""The effect of extenders on the pods that another may evict."""

import asyncio
from collections.abc import Sequence

import pytest

from muster.framework.contract import PodDecision
from muster.plugins.defaultpreemption.plugin import DefaultPreemption
from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.played_extender import PlayedExtender
from tests.scheduler.stage import Stage


class DecidesOnly(DefaultPreemption):
    """Reports which pods it would evict, and evicts none."""

    def on_pod_decision(self, decision: PodDecision) -> None:
        pass


PLUGINS = (NodeResourcesFit, DecidesOnly)
SHORT = "0/2 nodes are available: 2 Insufficient cpu. preemption: "


def stage_with(set_stage: SetStage, *extenders: PlayedExtender) -> Stage:
    """Two nodes, each full with a pod that may be evicted."""
    stage = set_stage(*PLUGINS, extenders=extenders)
    stage.put_node(make_node("two"))
    stage.put_pod(*(make_pod(f"on-{node}").requests(cpu="3").node(node) for node in ("one", "two")))
    return stage


async def reported(stage: Stage) -> str:
    """The message about a pod of high priority that needs capacity."""
    stage.put_pod(make_pod("urgent").requests(cpu="3").priority(10))
    await stage.settle()
    return stage.conditions["default/urgent"][1]


async def test_the_node_that_extenders_agree_on_is_chosen(set_stage: SetStage) -> None:
    one, two = PlayedExtender("one", evicts={}), PlayedExtender("two", evicts={})
    stage = stage_with(set_stage, one, two)
    one.evicts = {node: [stage.uid(f"default/on-{node}")] for node in ("one", "two")}
    two.evicts = {"two": one.evicts["two"]}
    assert await reported(stage) == f"{SHORT}found a potential placement for pod on node two, preempting 1 victims"
    assert one.asked == two.asked == ["preempt urgent: one=on-one two=on-two"]


@pytest.mark.parametrize(
    ("evicts", "fails", "ignorable", "text"),
    [
        ({}, "", False, "no candidate node for preemption"),
        ({"one": []}, "", False, 'expected at least one victim pod on node "one"'),
        ({"one": []}, "", True, "no candidate node for preemption"),
        ({"three": ["x"]}, "", False, 'nodeinfo not found for node name "three"'),
        (
            {"one": ["x"]},
            "",
            False,
            "extender: http://played claims to preempt pod (UID: &{x}) on node: one,"
            " but the pod is not found on that node",
        ),
        ({}, "down", False, "down"),
        ({}, "down", True, "found a potential placement for pod on node one, preempting 1 victims"),
    ],
)
async def test_the_reports_about_an_answer(
    set_stage: SetStage, evicts: dict[str, Sequence[str]], fails: str, ignorable: bool, text: str
) -> None:
    extender = PlayedExtender(evicts=evicts, fails=fails, ignorable=ignorable)
    found = await reported(stage_with(set_stage, extender))
    assert found.replace("on node two", "on node one") == SHORT + text


async def test_an_answer_about_what_is_no_more_is_asked_for_again(set_stage: SetStage) -> None:
    extender = PlayedExtender(evicts={}, pods="urgent", held=asyncio.Event())
    stage = stage_with(set_stage, extender)
    extender.evicts = {node: [stage.uid(f"default/on-{node}")] for node in ("one", "two")}
    stage.put_pod(make_pod("urgent").requests(cpu="4").priority(10))
    await stage.settle()
    stage.put_pod(*(make_pod(f"more-{node}").requests(cpu="1").node(node) for node in ("one", "two")))
    await stage.settle()
    assert extender.held is not None
    extender.held.set()
    await stage.settle()
    assert extender.asked == [
        "preempt urgent: one=on-one two=on-two",
        "preempt urgent: one=on-one,more-one two=on-two,more-two",
    ]
