"""The requests of a pod that exceed every node of the cluster."""

import msgspec
import pytest

from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.snapshot import Snapshot
from muster.operator.explain.group_trial import sentences, try_group
from muster.operator.explain.group_views import view_of
from muster.operator.explain.live import explain_among
from muster.operator.explain.tables import render
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.simulate.additions import NO_HELP
from muster.operator.simulate.sizes import size_sentence
from muster.operator.web.census import take_census
from muster.operator.web.cluster import ClusterState
from muster.operator.web.views.group import group_page
from muster.operator.web.views.pod import pod_page
from muster.plugins.catalog import group_kinds
from muster.plugins.coscheduling.api import POD_GROUPS
from tests.builders import make_node, make_pod
from tests.simulate.rehearsing import GANG_ID, member, muster, objects, pod_group

NODES = [make_node("one", cpu="4", memory="8Gi"), make_node("two", cpu="2", memory="16Gi")]
TOO_LARGE = "No node has 6 cpu: the largest has 4."


@pytest.mark.parametrize(
    ("requests", "reason", "sentence"),
    [
        ({"cpu": "6"}, "Insufficient cpu", TOO_LARGE),
        ({"cpu": "4500m"}, "0/2 nodes are available: 2 Insufficient cpu.", "No node has 4500m cpu: the largest has 4."),
        (
            {"cpu": "6", "memory": "32Gi"},
            "1 Insufficient cpu, 1 Insufficient memory.",
            f"{TOO_LARGE} No node has 32Gi memory: the largest has 16Gi.",
        ),
        ({"example.com/gpu": "1"}, "Insufficient example.com/gpu", "No node has example.com/gpu."),
        ({"cpu": "4"}, "Insufficient cpu", ""),
        ({"cpu": "6"}, "node(s) had untolerated taint(s)", ""),
        ({"cpu": "6"}, "Insufficient cpu.example.com/fast, Insufficient cpu/fast, Insufficient cpu-fast", ""),
    ],
)
def test_a_request_that_exceeds_every_node_is_shown_with_the_largest_node_if_nodes_are_short_of_it(
    requests: dict[str, str], reason: str, sentence: str
) -> None:
    pod = make_pod("web").requests(**requests)
    nodes = [msgspec.convert(dict(each), Node) for each in NODES]
    assert size_sentence(PodInfo(msgspec.convert(dict(pod), Pod)), [reason], nodes) == sentence


async def test_why_and_the_web_page_say_of_a_group_that_can_never_fit_what_the_largest_node_has() -> None:
    gang = [member(f"m-{number}", "gang").requests(cpu="6") for number in range(2)]
    cluster = objects(*NODES, pod_group("gang", 2), *gang)
    trial = await try_group(muster(), cluster, GANG_ID)
    assert trial is not None
    assert sentences(trial)[1:3] == [TOO_LARGE, NO_HELP]
    kinds = GroupKinds(group_kinds())
    [group] = cluster.watched[POD_GROUPS]
    page = group_page(view_of(kinds.of(GANG_ID), group, cluster.pods), trial, Snapshot(), 0.0)
    assert page.sentences[1:3] == [TOO_LARGE, NO_HELP]


async def test_why_and_the_web_page_say_of_a_pod_that_can_never_fit_what_the_largest_node_has() -> None:
    cluster = objects(*NODES, make_pod("web").requests(cpu="6"))
    explained = await explain_among(muster(), cluster, PodInfo(cluster.pods[0]))
    assert TOO_LARGE in [*render(explained)]
    view = pod_page(cluster.pods[0], take_census(ClusterState((), (), GroupKinds(group_kinds()), {})), explained, 0.0)
    assert TOO_LARGE in view.sentences


async def test_a_group_that_other_pods_keep_out_is_not_hopeless() -> None:
    gang = [member(f"m-{number}", "gang").requests(cpu="3") for number in range(2)]
    trial = await try_group(muster(), objects(*NODES, pod_group("gang", 2), *gang), GANG_ID)
    assert trial is not None
    assert (trial.size, trial.hopeless) == ("", False)
    assert "Capacity for 1 more member is lacking: 3 cpu on one node." in sentences(trial)
