"""The pods and groups that a gang waits for: the fewest that would have to end for it to start."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from muster.operator.explain.group_trial import TriedGroup, sentences, try_group
from muster.operator.simulate.manifests import read
from tests.builders import PodDict, make_node, make_pod
from tests.simulate.rehearsing import GANG_ID, KINDS, member, muster, pod_group

Manifests = Sequence[Mapping[str, Any]]


def gang(size: int, cpu: str) -> list[Mapping[str, Any]]:
    return [pod_group("gang", size), *(member(f"m-{n}", "gang").requests(cpu=cpu) for n in range(size))]


def runs(name: str, node: str, cpu: str) -> PodDict:
    return make_pod(name).requests(cpu=cpu).node(node)


def of_group(group: str, *pods: PodDict) -> list[Mapping[str, Any]]:
    return [pod_group(group, len(pods)), *(pod.labels({"scheduling.x-k8s.io/pod-group": group}) for pod in pods)]


def made_for(node: str, pod: PodDict) -> PodDict:
    """As the DaemonSet controller makes it."""
    own = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [own]}}
    pod["spec"]["affinity"] = {"nodeAffinity": required}
    return pod


async def tried(*cluster: Mapping[str, Any]) -> TriedGroup:
    objects = read(json.dumps({"kind": "List", "items": cluster}), "test", muster().kinds_to_read(), kinds=KINDS)
    trial = await try_group(muster(), objects, GANG_ID)
    assert trial is not None
    return trial


GPUS = [pod_group("gang", 3), *(member(f"m-{n}", "gang").requests({"cpu": "1", "gpu/a": "1"}) for n in range(3))]
TWO = [make_node("one", cpu="4"), make_node("two", cpu="4")]
OTHER = of_group("other", runs("o-0", "one", "2"), runs("o-1", "two", "2"))
CASES: dict[str, tuple[Manifests, list[str]]] = {
    "the pod that is in the way, not the one beside whom there is room": (
        [*TWO, runs("large", "one", "3"), runs("small", "two", "1"), *gang(2, "3")],
        ["pod default/large"],
    ),
    "of those that would do, the one with the fewest pods": (
        [*TWO, *OTHER, runs("lone", "one", "2"), *gang(2, "2")],
        ["pod default/lone"],
    ),
    "then the one with the lowest priority": (
        [*TWO, runs("a", "one", "4").priority(5), runs("b", "two", "4").priority(3), *gang(1, "4")],
        ["pod default/b"],
    ),
    "a group that runs, rather than several pods": (
        [*TWO, *OTHER, *(runs(f"p-{node}", node, "1") for node in ("one", "two")), *gang(2, "3")],
        ["group default/other (2 pods)"],
    ),
    "several, where one is too few, and none that is needless": (
        [*TWO, *(runs(f"p-{node}", node, "3") for node in ("one", "two")), runs("tiny", "two", "1"), *gang(2, "3")],
        ["pod default/p-one", "pod default/p-two"],
    ),
    "nobody on a node where the gang may not go": (
        [make_node("one", cpu="4").unschedulable(), make_node("two", cpu="4"), runs("a", "one", "4"), *gang(2, "4")],
        [],
    ),
    "nobody who runs on every node or for the cluster": (
        [
            *TWO,
            made_for("one", runs("agent", "one", "2")),
            runs("dns", "two", "2").priority(2_000_000_000),
            *gang(2, "4"),
        ],
        [],
    ),
    "nobody where it is too large for any node": ([*TWO, runs("a", "one", "4"), *gang(1, "5")], []),
    "nobody for what another has in the way, when that is not room": (
        [make_node("one", cpu="4"), runs("a", "one", "1"), pod_group("gang", 3), member("m-0", "gang")],
        [],
    ),
}


@pytest.mark.parametrize(("cluster", "named"), CASES.values(), ids=CASES)
async def test_the_workloads_whose_end_would_start_the_gang_are_named(cluster: Manifests, named: list[str]) -> None:
    trial = await tried(*cluster)
    assert trial.reason
    assert sorted(map(str, trial.ending)) == named


async def test_a_port_that_another_holds_is_reported_too() -> None:
    def listening(pod: PodDict) -> PodDict:
        pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        return pod

    server = listening(make_pod("server").node("one"))
    trial = await tried(make_node("one"), server, pod_group("gang", 1), listening(member("m-0", "gang")))
    assert [*map(str, trial.ending)] == ["pod default/server"]


async def test_people_read_it_in_one_sentence_after_the_nodes_that_would_help() -> None:
    trial = await tried(*TWO, *(runs(f"p-{node}", node, "3") for node in ("one", "two")), *gang(2, "3"))
    _, lack, nodes, ending, *_ = sentences(trial)
    assert lack == "Capacity for 2 more members is lacking: 3 cpu on one node for each."
    assert nodes.startswith("2 more nodes like ")
    assert ending == "The group would fit if pod default/p-one and pod default/p-two ended."


@pytest.mark.parametrize(
    ("cluster", "members", "each"),
    [
        ([*TWO, *gang(4, "1500m")], 0, {}),
        ([*TWO, runs("a", "one", "3"), *gang(5, "1500m")], 3, {"cpu": "1500m"}),
        ([make_node("one", cpu="4"), *gang(3, "2")], 1, {"cpu": "2"}),
        ([make_node("one", cpu="64").resources({"cpu": "64", "gpu/a": "1"}), *GPUS], 2, {"gpu/a": "1"}),
        ([make_node("one", cpu="4").unschedulable(), *gang(1, "2")], 0, {}),
        ([make_node("one"), pod_group("gang", 3), member("m-0", "gang")], 0, {}),
    ],
    ids=[
        "it fits",
        "three of five",
        "one of three",
        "only one thing",
        "it is not room",
        "members are lacking",
    ],
)
async def test_the_capacity_that_is_lacking_is_shown(cluster: Manifests, members: int, each: dict[str, str]) -> None:
    lack = (await tried(*cluster)).lack
    assert (lack.members, lack.each) == (members, each) if lack is not None else not members


async def test_nodes_say_who_turned_the_next_member_away_and_whether_it_helps_when_pods_end() -> None:
    nodes = [make_node("one", cpu="4"), make_node("two", cpu="4").unschedulable()]
    trial = await tried(*nodes, *gang(2, "4"))
    assert [(each.plugin, each.code, each.took) for each in trial.nodes] == [
        ("NodeResourcesFit", "Unschedulable", 1),
        ("NodeUnschedulable", "UnschedulableAndUnresolvable", 0),
    ]
