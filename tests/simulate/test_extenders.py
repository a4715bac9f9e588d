"""Answers of extenders count in trials as for the scheduler, and no unnecessary question is asked."""

import asyncio
from collections.abc import Sequence

from muster.framework.contract.extender import ExtenderFilterResult
from muster.framework.model.pod_info import PodInfo
from muster.operator.explain.group_trial import TriedGroup, try_group
from muster.operator.explain.live import Explained, explain_among
from muster.operator.simulate.additions import Shortfall
from muster.operator.simulate.extenders import ExtenderSession
from muster.operator.simulate.manifests import Objects
from muster.operator.simulate.rehearsal import Placement, Rehearsal
from muster.operator.simulate.shortfall import shortfall
from tests.builders import make_node, make_pod
from tests.scheduler.played_extender import PlayedExtender, only
from tests.simulate.rehearsing import GANG_ID, member, muster, objects, pod_group

NODES = [make_node(name, cpu="2") for name in ("a", "b", "c")]
POD = make_pod("web").requests(cpu="1")
DOWN = 'Post "http://played/filter": dial tcp: lookup played: no such host'


async def explained(extender: PlayedExtender, cluster: Objects) -> Explained:
    """The last pod of the cluster."""
    session = ExtenderSession([extender], cluster.nodes)
    return await explain_among(muster(), cluster, PodInfo(cluster.pods[-1]), session=session)


async def simulated(
    extender: PlayedExtender, cluster: Objects, wanted: Objects
) -> tuple[dict[str, Placement], Shortfall | None]:
    session = ExtenderSession([extender], cluster.nodes)
    async with Rehearsal(muster(), cluster, wanted, session=session) as rehearsal:
        placements = await rehearsal.place(rehearsal.pods)
        missing = await shortfall(rehearsal, placements)
    return {each.pod.name: each for each in placements}, missing


async def tried(extender: PlayedExtender, cluster: Objects) -> TriedGroup:
    session = ExtenderSession([extender], cluster.nodes)
    trial = await try_group(muster(), cluster, GANG_ID, session=session)
    assert trial is not None
    return trial


async def test_a_pod_is_explained_with_what_an_extender_refuses_and_prefers() -> None:
    extender = PlayedExtender(filters=only("b", "c"), scores={"c": 10}, weight=5)
    explanation = (await explained(extender, objects(*NODES, POD))).explanation
    assert (explanation.feasible, explanation.chosen) == (("b", "c"), "c")
    assert explanation.scores["c"]["http://played"] == 10 * 5 * 10
    assert {name: (each.plugin, each.message) for name, each in explanation.rejected.items()} == {
        "a": ("Extender", "a failed")
    }


async def test_a_pod_that_no_extender_lets_anywhere_has_the_schedulers_message() -> None:
    explanation = (await explained(PlayedExtender(filters=only()), objects(*NODES, POD))).explanation
    assert explanation.message == (
        "0/3 nodes are available: 1 a failed, 1 b failed, 1 c failed. "
        "preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."
    )


async def test_nodes_that_an_extender_drops_without_a_reason_are_named_as_its_doing() -> None:
    class Silent(PlayedExtender):
        async def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderFilterResult:
            return ExtenderFilterResult((await super().filter(pod, node_names)).node_names)

    explanation = (await explained(Silent(filters=only("a")), objects(*NODES, POD))).explanation
    assert {name: each.plugin for name, each in explanation.rejected.items()} == {"b": "Extender", "c": "Extender"}


async def test_an_extender_that_cannot_be_reached_is_an_error_or_ignored() -> None:
    cluster = objects(*NODES, POD)
    broken = PlayedExtender(filters=only(), fails=DOWN)
    found = (await explained(broken, cluster)).explanation
    assert (found.message, found.feasible, found.evictions) == (DOWN, (), None)
    ignorable = PlayedExtender(filters=only(), fails=DOWN, ignorable=True)
    assert (await explained(ignorable, cluster)).explanation.feasible == ("a", "b", "c")


async def test_a_pod_that_preempts_does_so_where_an_extender_agrees() -> None:
    fillers = [make_pod(f"f-{name}").requests(cpu="2").node(name) for name in ("a", "b", "c")]
    cluster = objects(*NODES, *fillers, make_pod("vip").requests(cpu="1").priority(9))
    extender = PlayedExtender(evicts={"b": ["pod-default-f-b"]})
    found = await explained(extender, cluster)
    assert [(each.pod, each.node) for each in found.evicted] == [("default/f-b", "b")]
    assert extender.asked == ["preempt vip: a=f-a b=f-b c=f-c"]


async def test_pods_of_a_simulation_go_where_extenders_let_them_and_nothing_is_bound_by_these() -> None:
    extender = PlayedExtender(filters=only("b"), binds=True)
    placements, missing = await simulated(extender, objects(*NODES), objects(POD, make_pod("two").requests(cpu="2")))
    assert {name: each.node for name, each in placements.items()} == {"web": "b", "two": ""}
    assert "1 Insufficient cpu, 1 a failed, 1 c failed" in placements["two"].reason
    assert [line for line in extender.asked if not line.startswith("filter")] == []
    assert missing is not None
    assert [each.nodes for each in missing.additions] == [1]


async def test_retries_ask_an_extender_nothing_twice_and_not_of_nodes_that_are_made_up() -> None:
    extender = PlayedExtender(filters=only(), scores={})
    placements, missing = await simulated(extender, objects(*NODES), objects(POD))
    assert placements["web"].node == ""
    assert extender.asked == ["filter web: a b c"]
    assert missing is not None


async def test_time_stands_still_while_an_extender_thinks() -> None:
    extender = PlayedExtender(filters=only("c"), held=asyncio.Event())
    assert extender.held is not None
    asyncio.get_running_loop().call_later(0.05, extender.held.set)
    placements, _ = await simulated(extender, objects(*NODES), objects(POD))
    assert placements["web"].node == "c"


async def test_a_gang_is_tried_with_what_extenders_let_its_members_have() -> None:
    gang = [pod_group("gang", 3), *(member(f"m-{number}", "gang").requests(cpu="1") for number in range(3))]

    def licensed(node: str) -> str:
        return "" if node == "a" else "no licence there"

    trial = await tried(PlayedExtender(filters=licensed), objects(*NODES, *gang))
    assert "2 of the 3 members that it needs fit" in trial.reason
    assert {(each.reason, each.plugin): each.took for each in trial.nodes} == {
        ("Insufficient cpu", "NodeResourcesFit"): 2,
        ("no licence there", "Extender"): 0,
    }
    assert (await tried(PlayedExtender(filters=only("a", "b")), objects(*NODES, *gang))).reason == ""


async def test_a_gang_whose_extender_is_down_says_so() -> None:
    gang = [pod_group("gang", 2), *(member(f"m-{number}", "gang").requests(cpu="1") for number in range(2))]
    trial = await tried(PlayedExtender(filters=only("a"), fails=DOWN), objects(*NODES, *gang))
    assert DOWN in trial.reason
