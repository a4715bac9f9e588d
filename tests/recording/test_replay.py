"""A recording, decided again: the same to the last byte, and what another configuration would decide."""

from collections import Counter, deque
from pathlib import Path

import numpy as np
import pytest

from muster.framework.contract import CycleState, PodDecision
from muster.framework.groups.record import EndedMember
from muster.framework.runtime.results import Scored
from muster.framework.snapshot.view import NodeView
from muster.operator.recording.comparison import Difference
from muster.operator.recording.events import Decided, GroupDecided, Ranking
from muster.operator.recording.replay import _Listener
from muster.testing import make_node, make_pod
from muster.testing.cluster import info
from tests.dynamicresources.objects import claiming_pod
from tests.dynamicresources.searches import HARD

from .recorded import RecordedScheduler, add_gang, live, replayed

MOST_ALLOCATED = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}

PLURALS = {"DeviceClass": "deviceclasses", "ResourceClaim": "resourceclaims", "ResourceSlice": "resourceslices"}


@pytest.mark.parametrize("seed", range(4))
async def test_a_recording_replays_to_the_same_decisions_byte_for_byte(tmp_path: Path, seed: int) -> None:
    cluster = RecordedScheduler(tmp_path / "recording", seed)
    await live(cluster, seed, rounds=40, nodes=12, pods=8)
    comparison = replayed(cluster.end())
    assert comparison.exact, (comparison.own_way, comparison.broken_off)
    assert comparison.decisions > 150


async def test_another_configuration_shows_each_pod_that_it_would_send_elsewhere(tmp_path: Path) -> None:
    cluster = RecordedScheduler(tmp_path / "recording")
    cluster.add_nodes(make_node("small", cpu="4"), make_node("large", cpu="8"))
    await cluster.run(1)
    cluster.add(make_pod("first").requests(cpu="1"))
    await cluster.run(1)
    cluster.add(make_pod("second").requests(cpu="1"))
    await cluster.run(1)
    assert cluster.node_of("default/first") == "large"
    comparison = replayed(cluster.end(), NodeResourcesFit=MOST_ALLOCATED)
    [(difference, story), *_] = comparison.differences()
    assert difference is Difference.ELSEWHERE
    assert story.recorded is not None
    assert story.recorded.ranking is not None
    assert story.would is not None
    assert (story.recorded.pod, story.recorded.node, story.would.node) == ("default/first", "large", "small")
    # Fewer of the large node's resources are taken; more of the small one's.
    assert story.recorded.ranking.by_plugin["NodeResourcesFit"] > 50
    assert story.would.ranking.by_plugin["NodeResourcesFit"] < 50


async def test_no_difference_is_the_consequence_of_another(tmp_path: Path) -> None:
    """The second pod is decided where the first one is as recorded, not where it would have been."""
    cluster = RecordedScheduler(tmp_path / "recording")
    cluster.add_nodes(make_node("node-0", cpu="4"), make_node("node-1", cpu="8"))
    await cluster.run(1)
    for number in range(6):
        cluster.add(make_pod(f"pod-{number}").requests(cpu="1"))
        await cluster.run(1)
    comparison = replayed(cluster.end(), NodeResourcesFit=MOST_ALLOCATED)
    assert comparison.own_way is None
    assert comparison.same + comparison.reworded + comparison.elsewhere == comparison.decisions


async def test_a_plugin_less_places_who_waited(tmp_path: Path) -> None:
    cluster = RecordedScheduler(tmp_path / "recording")
    cluster.add_nodes(make_node("tainted").taint("only", "others"), make_node("full", cpu="1"))
    await cluster.run(1)
    cluster.add(make_pod("waits").requests(cpu="2"), make_pod("goes").requests(cpu="1"))
    await cluster.run(5)
    assert not cluster.node_of("default/waits")
    comparison = replayed(cluster.end(), without={"muster": ["TaintToleration"]})
    assert Counter(difference for difference, _ in comparison.differences())[Difference.NOW_PLACED] == 1
    assert comparison.own_way is not None


async def test_members_that_have_ended_count_in_the_replay_too(tmp_path: Path) -> None:
    cluster = RecordedScheduler(tmp_path / "recording")
    cluster.add_nodes(make_node("one"), make_node("two"))
    await cluster.run(1)
    policy = {"gang": {"minCount": 3}}
    group = {"metadata": {"name": "gang", "namespace": "default"}, "spec": {"schedulingPolicy": policy}}
    cluster.api.put("podgroups.v1beta1.scheduling.k8s.io", group)
    ended = EndedMember("default/gang", succeeded=True)
    cluster.engine.ended_handlers["GangScheduling"]("uid-of-the-first", None, ended)
    pods = [make_pod(f"gang-{number}") for number in (1, 2)]
    for pod in pods:
        pod["spec"]["schedulingGroup"] = {"podGroupName": "gang"}
    left = cluster.add(*pods)
    await cluster.run(5)
    assert all(map(cluster.node_of, left))
    comparison = replayed(cluster.end())
    assert comparison.exact, (comparison.own_way, comparison.broken_off)
    assert '"memberEnded"' in cluster.path.read_text()


async def test_a_gang_that_waited_and_would_fit_is_shown_with_both_reasons(tmp_path: Path) -> None:
    cluster = RecordedScheduler(tmp_path / "recording")
    cluster.add_nodes(make_node("tainted").taint("only", "others"), make_node("free", cpu="2"))
    await cluster.run(1)
    add_gang(cluster, "gang", 3, cpu="1")
    await cluster.run(5)
    comparison = replayed(cluster.end(), without={"muster": ["TaintToleration"]})
    reported = {story.recorded.pod: story for _, story in comparison.differences() if story.recorded is not None}
    assert {story.difference for story in reported.values()} == {Difference.NOW_PLACED, Difference.ELSEWHERE}
    waited = [
        story.recorded for story in reported.values() if story.difference is Difference.NOW_PLACED and story.recorded
    ]
    assert all("Insufficient cpu" in decision.message for decision in waited)


async def test_long_work_beside_other_decisions_is_done_again_where_it_was(tmp_path: Path) -> None:
    cluster = RecordedScheduler(tmp_path / "recording")
    cluster.add_nodes(*(make_node(f"n{number}", cpu="1") for number in range(4)))
    for each in HARD:
        cluster.api.put(PLURALS[each["kind"]], each)
    await cluster.settle()
    cluster.add(claiming_pod("hard", "hard"), *(make_pod(f"easy-{number}").requests(cpu="1") for number in range(6)))
    steps = 0
    while "default/hard" not in cluster.conditions:
        await cluster.breathe()
        steps += cluster.step()
    await cluster.settle()
    assert "cannot allocate all claims" in cluster.conditions["default/hard"][1]

    comparison = replayed(cluster.end())
    assert comparison.exact, (comparison.own_way, comparison.broken_off)
    assert steps > 20


async def test_a_node_that_changes_before_the_binding_cycle_begins_is_lost_in_the_replay_too(tmp_path: Path) -> None:
    cluster = RecordedScheduler(tmp_path / "recording")
    cluster.add_nodes(make_node("only"))
    await cluster.settle()
    cluster.add(make_pod("pod").requests(cpu="1"))
    await cluster.breathe()
    assert cluster.step()
    cluster.api.change("nodes", "only", lambda node: node["spec"].update(unschedulable=True))
    await cluster.run(5)
    assert not cluster.node_of("default/pod")

    comparison = replayed(cluster.end())
    assert comparison.exact, (comparison.own_way, comparison.broken_off)
    assert comparison.decisions == 3  # placed, given back, rejected


def test_a_trial_that_took_another_node_does_not_say_how_good_the_decided_one_was(tmp_path: Path) -> None:
    """A pod of a group is tried several times in a cycle, among other nodes each time."""
    cluster = RecordedScheduler(tmp_path / "recording")
    cluster.add_nodes(*(make_node(f"node-{number}") for number in range(3)))
    reported: list[Decided | GroupDecided] = []
    pod = info(make_pod("pod"))
    listener = _Listener(reported.append, {pod.uid: deque([(0, "node-1")])})
    for rows in ([1], [0, 1, 2]):
        scored = Scored({}, np.zeros(len(rows), np.int64))
        nodes = NodeView(cluster.engine.cache.snapshot, np.array(rows, np.intp))
        assert rows[listener.pick(pod, nodes, scored, lambda count: 0)] == 1
    listener.on_pod_decision(PodDecision(pod, CycleState(), "node-1", None))
    cluster.end()
    [decided] = reported
    assert isinstance(decided, Decided)
    assert decided.ranking == Ranking(total=0, by_plugin={}, among=1, equals=1)
