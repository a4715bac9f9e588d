"""The decisions of extenders, for which only the pods that they are interested in wait."""

import asyncio
from collections.abc import Sequence

import pytest

from muster.framework.contract.extender import ExtenderFilterResult
from muster.framework.metrics import SchedulerMetrics
from muster.framework.model.pod_info import PodInfo
from muster.framework.runtime.consultation import Consultation
from muster.framework.scheduler.extenders import bind_by_extender, consult
from muster.plugins.nodes.node_unschedulable import NodeUnschedulable
from muster.plugins.resources.fit import NodeResourcesFit
from muster.testing.cluster import info
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.played_extender import PlayedExtender, only
from tests.scheduler.scripted import scoring

ALL = ("node1", "node2", "node3")


async def asked(*extenders: PlayedExtender, nodes: Sequence[str] = ALL) -> Consultation:
    """What a pod's consultation comes to."""
    consultation = Consultation(consulted_nodes=frozenset(nodes))
    await consult(extenders, a_pod(), consultation, SchedulerMetrics())
    return consultation


def a_pod() -> PodInfo:
    return info(make_pod("a"))


@pytest.mark.parametrize(
    ("extenders", "left", "reasons", "error"),
    [
        pytest.param([PlayedExtender(filters=only(*ALL))], ALL, {}, "", id="one lets all through"),
        pytest.param(
            [PlayedExtender(filters=only("node1", "node2")), PlayedExtender(filters=only("node2"))],
            ("node2",),
            {"node3": ("Unschedulable", "node3 failed"), "node1": ("Unschedulable", "node1 failed")},
            "",
            id="each is asked about what the one before left",
        ),
        pytest.param(
            [PlayedExtender(filters=lambda node: "" if node == "node1" else f"!{node} is no good")],
            ("node1",),
            {name: ("UnschedulableAndUnresolvable", f"{name} is no good") for name in ("node2", "node3")},
            "",
            id="unresolvable",
        ),
        pytest.param(
            [PlayedExtender(filters=only())], (), {n: ("Unschedulable", f"{n} failed") for n in ALL}, "", id="none"
        ),
        pytest.param([PlayedExtender(filters=only(*ALL), fails="down")], (), {}, "down", id="a failure"),
        pytest.param(
            [PlayedExtender(filters=only(), fails="down", ignorable=True), PlayedExtender(filters=only("node2"))],
            ("node2",),
            {"node1": ("Unschedulable", "node1 failed"), "node3": ("Unschedulable", "node3 failed")},
            "",
            id="an ignorable failure",
        ),
        pytest.param([PlayedExtender(filters=only(), pods="b")], ALL, {}, "", id="no interest"),
        pytest.param([PlayedExtender(scores={})], ALL, {}, "", id="no filter verb"),
    ],
)
async def test_nodes_pass_what_extenders_let_through(
    extenders: list[PlayedExtender], left: Sequence[str], reasons: dict[str, tuple[str, str]], error: str
) -> None:
    found = await asked(*extenders)
    assert sorted(found.node_names) == sorted(left)
    assert {name: (status.code.wire_name, status.message) for name, status in found.statuses.items()} == reasons
    assert (found.error.message if found.error is not None else "") == error


async def test_a_node_that_was_not_asked_about_is_an_error() -> None:
    class Wrong(PlayedExtender):
        async def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderFilterResult:
            return ExtenderFilterResult(["x"])

    wrong = Wrong(filters=only("node1"))
    found = await asked(wrong)
    assert found.error is not None
    assert found.error.message == (
        'extender "http://played" claims a filtered node "x" which is not found in the input node list'
    )


async def test_scores_count_their_weight_on_the_scale_of_plugins() -> None:
    one = PlayedExtender("one", scores={"node1": 10, "node2": 1}, weight=5)
    two = PlayedExtender("two", scores={"node1": 10}, fails="down")
    found = await asked(one, two)
    assert found.scores == {"one": {"node1": 500, "node2": 50}}


async def test_scores_of_two_extenders_at_one_url_add_up() -> None:
    one = PlayedExtender(scores={"node1": 10, "node2": 1}, weight=5)
    two = PlayedExtender(scores={"node2": 3, "node3": 2})
    assert (await asked(one, two)).scores == {"http://played": {"node1": 500, "node2": 80, "node3": 20}}


async def test_a_single_node_is_not_scored() -> None:
    extender = PlayedExtender(filters=only("node1"), scores={"node1": 1})
    await asked(extender)
    assert extender.asked == ["filter a: node1 node2 node3"]


async def test_the_first_interested_binder_binds() -> None:
    other, first = PlayedExtender(binds=True, pods="b"), PlayedExtender(binds=True)
    assert await bind_by_extender([other, first], a_pod(), "node1") is None
    assert (other.asked, first.asked) == ([], ["bind a: node1"])
    status = await bind_by_extender([PlayedExtender(binds=True, fails="no")], a_pod(), "node1")
    assert status is not None
    assert status.message == "no"
    status = await bind_by_extender([PlayedExtender(binds=True, fails="no", ignorable=True)], a_pod(), "node1")
    assert status is not None
    assert status.code.wire_name == "Skip"


async def test_a_pod_goes_where_extender_and_plugins_agree(set_stage: SetStage) -> None:
    extender = PlayedExtender(filters=only("one", "two", "three"), scores={"two": 2, "three": 3})
    stage = set_stage(NodeUnschedulable, scoring("S", {"one": 25}), extenders=[extender])
    stage.put_node(make_node("two"), make_node("three").unschedulable(), make_node("four"))
    stage.put_pod(make_pod("a"))
    await stage.settle()
    assert extender.asked == ["filter a: four one two", "prioritize a: one two"]
    assert stage.binds == [("default/a", "one")]


async def test_without_score_plugins_extenders_still_choose_among_all_nodes(set_stage: SetStage) -> None:
    extender = PlayedExtender(scores={"two": 1})
    stage = set_stage(extenders=[extender])
    stage.put_node(make_node("two"), make_node("three"))
    stage.put_pod(make_pod("a"))
    await stage.settle()
    assert stage.binds == [("default/a", "two")]


async def test_a_slow_extender_delays_no_other_pod(set_stage: SetStage) -> None:
    extender = PlayedExtender(filters=only("one"), pods="slow", held=asyncio.Event())
    stage = set_stage(extenders=[extender])
    stage.put_pod(make_pod("slow"), make_pod("other"))
    await stage.settle()
    assert stage.binds == [("default/other", "one")]
    assert stage.place("default/slow") == "in flight"
    assert extender.held is not None
    extender.held.set()
    await stage.settle()
    assert stage.binds[1:] == [("default/slow", "one")]


async def test_nodes_that_filled_up_meanwhile_are_asked_about_no_more(set_stage: SetStage) -> None:
    extender = PlayedExtender(filters=only("one", "two"), pods="slow", held=asyncio.Event())
    stage = set_stage(NodeResourcesFit, scoring("S", {"one": 1}), extenders=[extender])
    stage.put_pod(make_pod("slow").requests(cpu="3"))
    await stage.settle()
    stage.put_node(make_node("two"))
    stage.put_pod(make_pod("quick").requests(cpu="3"))
    await stage.settle()
    assert stage.binds == [("default/quick", "one")]
    assert extender.held is not None
    extender.held.set()
    await stage.settle()
    assert extender.asked == ["filter slow: one", "filter slow: two"]
    assert stage.binds[1:] == [("default/slow", "two")]


async def test_a_pod_that_extenders_refuse_is_tried_after_any_event(set_stage: SetStage) -> None:
    extender = PlayedExtender(filters=only("two"))
    stage = set_stage(NodeResourcesFit, extenders=[extender])
    stage.put_pod(make_pod("a"))
    await stage.settle()
    assert stage.conditions["default/a"][:2] == ("Unschedulable", "0/1 nodes are available: 1 one failed.")
    assert stage.place("default/a") == "unschedulable"
    stage.put_node(make_node("two"))
    await stage.wait(60)
    assert stage.binds == [("default/a", "two")]


async def test_a_failure_of_an_extender_is_reported_and_tried_again(set_stage: SetStage) -> None:
    extender = PlayedExtender(filters=only("one"), fails="down")
    stage = set_stage(extenders=[extender])
    stage.put_pod(make_pod("a"))
    await stage.settle()
    assert stage.conditions["default/a"][:2] == ("SchedulerError", "down")
    extender.fails = ""
    await stage.wait(60)
    assert stage.binds == [("default/a", "one")]


async def test_a_pod_that_is_deleted_while_extenders_are_asked_is_forgotten(set_stage: SetStage) -> None:
    extender = PlayedExtender(filters=only("one"), held=asyncio.Event())
    stage = set_stage(extenders=[extender])
    stage.put_pod(make_pod("a"))
    await stage.settle()
    stage.drop_pod("default/a")
    assert extender.held is not None
    extender.held.set()
    await stage.settle()
    assert stage.binds == []
    assert stage.engine.queue.contents.dump() == []


async def test_a_nominated_node_that_extenders_turn_down_is_not_the_only_one(set_stage: SetStage) -> None:
    extender = PlayedExtender(filters=only("two"))
    stage = set_stage(extenders=[extender])
    stage.put_node(make_node("two"))
    stage.put_pod(make_pod("a").nominated("one"))
    await stage.settle()
    assert extender.asked == ["filter a: one", "filter a: one two"]
    assert stage.binds == [("default/a", "two")]


async def test_an_extender_that_binds_binds_instead_of_plugins(set_stage: SetStage) -> None:
    extender = PlayedExtender(binds=True)
    stage = set_stage(extenders=[extender])
    stage.put_pod(make_pod("a"))
    await stage.settle()
    assert (extender.asked, stage.binds) == (["bind a: one"], [])
    assert ("default/a", "Scheduled", "Successfully assigned default/a to one") in stage.events


async def test_more_pods_than_may_be_asked_about_at_once_wait_in_the_order_of_the_queue(set_stage: SetStage) -> None:
    extender = PlayedExtender(filters=only("one"), held=asyncio.Event())
    stage = set_stage(extenders=[extender])
    stage.put_pod(*(make_pod(f"low-{number}") for number in range(20)))
    await stage.settle()
    stage.put_pod(make_pod("high").priority(10))
    await stage.settle()
    assert len(extender.asked) == 16
    assert extender.held is not None
    extender.held.set()
    await stage.settle()
    assert extender.asked[16] == "filter high: one"
    assert len(stage.binds) == 21


async def test_a_node_that_an_extender_chose_and_that_is_taken_meanwhile_is_replaced_by_another_that_it_was_asked_about(
    set_stage: SetStage,
) -> None:
    class Choosing(PlayedExtender):
        async def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderFilterResult:
            await super().filter(pod, node_names)
            return ExtenderFilterResult([min(node_names)])

    extender = Choosing(filters=only(), pods="slow", held=asyncio.Event())
    stage = set_stage(NodeResourcesFit, scoring("S", {"one": 1}), extenders=[extender])
    stage.put_node(make_node("two"))
    stage.put_pod(make_pod("slow").requests(cpu="3"))
    await stage.settle()
    stage.put_pod(make_pod("quick").requests(cpu="3"))
    await stage.settle()
    assert stage.binds == [("default/quick", "one")]
    assert extender.held is not None
    extender.held.set()
    await stage.settle()
    assert extender.asked == ["filter slow: one two", "filter slow: two"]
    assert stage.binds[1:] == [("default/slow", "two")]


@pytest.mark.parametrize(("binds", "more"), [(False, 1), (True, 0)])
async def test_a_change_of_a_pods_annotations_alone_does_not_bring_it_back_to_an_extender_that_may_write_them(
    binds: bool, more: int, set_stage: SetStage
) -> None:
    extender = PlayedExtender(filters=only(), binds=binds)
    stage = set_stage(NodeResourcesFit, extenders=[extender])
    pod = make_pod("a")
    stage.put_pod(pod)
    await stage.wait(60)
    assert len(extender.asked) == 1
    stage.put_pod(pod.annotations({"example.com/note": "chosen"}))
    await stage.wait(60)
    assert len(extender.asked) == 1 + more
    stage.put_pod(pod.labels(tier="gold"))
    await stage.wait(60)
    assert len(extender.asked) == 2 + more
