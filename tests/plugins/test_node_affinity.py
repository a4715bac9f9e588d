"""NodeAffinity: node selectors, required and preferred terms, and what the profile adds."""

from typing import Any

import pytest

from muster.framework.config.args import NodeAffinityArgs
from muster.framework.contract import Code, CycleState, Hint, PreFilterResult, Status
from muster.plugins.nodes.node_affinity import NodeAffinityPlugin
from tests.builders import NodeDict, PodDict, make_node, make_pod, require
from tests.plugins.cluster import Cluster, info, typed

UNMATCHED = Status.unresolvable("node(s) didn't match Pod's node affinity/selector")
NOT_ENFORCED = Status.unresolvable("node(s) didn't match scheduler-enforced node affinity")


@pytest.fixture
def cluster() -> Cluster:
    """Nodes with different disks, one with many cores, one with no labels of its own."""
    return Cluster(
        make_node("ssd").labels(disk="ssd"),
        make_node("hdd").labels(disk="hdd"),
        make_node("big").labels(disk="ssd", cores="64"),
        make_node("bare"),
    )


def enforcing(**affinity: Any) -> NodeAffinityArgs:
    """Arguments as a configuration spells them."""
    return NodeAffinityArgs.model_validate({"addedAffinity": affinity})


def named(pod: PodDict, *terms: list[dict[str, Any]]) -> PodDict:
    """Adds required terms on fields."""
    required = {"nodeSelectorTerms": [{"matchFields": fields} for fields in terms]}
    pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return pod


def pre_filtered(
    cluster: Cluster, pod: PodDict, args: NodeAffinityArgs | None = None
) -> PreFilterResult | Status | None:
    return cluster.plugin(NodeAffinityPlugin, args).pre_filter(CycleState(), info(pod), cluster.view())


def pre_scored(cluster: Cluster, pod: PodDict, args: NodeAffinityArgs | None = None) -> Status | None:
    return cluster.plugin(NodeAffinityPlugin, args).pre_score(CycleState(), info(pod), cluster.view())


def test_the_filter_is_left_out_for_a_pod_that_requires_nothing(cluster: Cluster) -> None:
    assert pre_filtered(cluster, make_pod("web").prefer_nodes(1, require("disk", "Exists"))) == Status.skip()


def test_a_node_selector_needs_every_label_with_its_value(cluster: Cluster) -> None:
    pod = make_pod("web").node_selector({"disk": "ssd", "cores": "64"})
    assert cluster.rejected(cluster.plugin(NodeAffinityPlugin), pod) == dict.fromkeys(["ssd", "hdd", "bare"], UNMATCHED)


def test_one_of_the_required_terms_is_enough(cluster: Cluster) -> None:
    pod = make_pod("web").require_nodes(require("disk", "In", "hdd")).require_nodes(require("cores", "Gt", "32"))
    assert cluster.rejected(cluster.plugin(NodeAffinityPlugin), pod).keys() == {"ssd", "bare"}


def test_all_requirements_of_a_term_have_to_hold(cluster: Cluster) -> None:
    pod = make_pod("web").require_nodes(require("disk", "In", "ssd", "nvme"), require("cores", "DoesNotExist"))
    assert cluster.rejected(cluster.plugin(NodeAffinityPlugin), pod).keys() == {"hdd", "big", "bare"}


def test_node_selector_and_affinity_both_have_to_hold(cluster: Cluster) -> None:
    pod = make_pod("web").node_selector({"disk": "ssd"}).require_nodes(require("cores", "Exists"))
    assert cluster.rejected(cluster.plugin(NodeAffinityPlugin), pod).keys() == {"ssd", "hdd", "bare"}


def test_required_affinity_without_terms_fits_no_node(cluster: Cluster) -> None:
    pod = named(make_pod("web"))
    assert pre_filtered(cluster, pod) is None
    assert len(cluster.rejected(cluster.plugin(NodeAffinityPlugin), pod)) == 4


def test_a_term_that_cannot_be_parsed_does_not_spoil_the_others(cluster: Cluster) -> None:
    pod = make_pod("web").require_nodes(require("disk", "In")).require_nodes(require("cores", "Exists"))
    assert cluster.rejected(cluster.plugin(NodeAffinityPlugin), pod).keys() == {"ssd", "hdd", "bare"}


def test_terms_that_all_name_nodes_narrow_the_search_to_these(cluster: Cluster) -> None:
    name = "metadata.name"
    pod = named(
        make_pod("web"), [require(name, "In", "ssd")], [require(name, "In", "big"), require(name, "NotIn", "x")]
    )
    assert pre_filtered(cluster, pod) == PreFilterResult(frozenset({"ssd", "big"}))
    assert cluster.rejected(cluster.plugin(NodeAffinityPlugin), pod).keys() == {"hdd", "bare"}


def test_one_term_that_names_no_node_leaves_the_search_wide(cluster: Cluster) -> None:
    pod = named(make_pod("web"), [require("metadata.name", "In", "ssd")], [require("metadata.name", "NotIn", "big")])
    assert pre_filtered(cluster, pod) is None


def test_terms_that_each_name_two_nodes_at_once_conflict(cluster: Cluster) -> None:
    pod = named(make_pod("web"), [require("metadata.name", "In", "ssd"), require("metadata.name", "In", "big")])
    assert pre_filtered(cluster, pod) == Status.unresolvable("pod affinity terms conflict")


def test_added_affinity_applies_to_every_pod_and_is_checked_first(cluster: Cluster) -> None:
    terms = [{"matchExpressions": [require("disk", "Exists")]}]
    args = enforcing(requiredDuringSchedulingIgnoredDuringExecution={"nodeSelectorTerms": terms})
    plugin = cluster.plugin(NodeAffinityPlugin, args)
    assert pre_filtered(cluster, make_pod("web"), args) is None
    assert cluster.rejected(plugin, make_pod("web")) == {"bare": NOT_ENFORCED}
    picky = make_pod("picky").node_selector({"disk": "ssd"})
    assert cluster.rejected(plugin, picky) == {"hdd": UNMATCHED, "bare": NOT_ENFORCED}


def test_weights_of_matching_terms_add_up_and_the_highest_sum_is_a_hundred(cluster: Cluster) -> None:
    pod = make_pod("web").prefer_nodes(5, require("disk", "In", "ssd")).prefer_nodes(2, require("cores", "Gt", "8"))
    assert cluster.scores(cluster.plugin(NodeAffinityPlugin), pod) == {"ssd": 71, "hdd": 0, "big": 100, "bare": 0}


def test_added_preferences_count_with_the_pods_preferences(cluster: Cluster) -> None:
    term = {"weight": 3, "preference": {"matchExpressions": [require("disk", "DoesNotExist")]}}
    plugin = cluster.plugin(NodeAffinityPlugin, enforcing(preferredDuringSchedulingIgnoredDuringExecution=[term]))
    pod = make_pod("web").prefer_nodes(1, require("disk", "In", "hdd"))
    assert cluster.scores(plugin, pod) == {"ssd": 0, "hdd": 33, "big": 0, "bare": 100}


def test_scores_are_all_zero_where_nothing_preferred_matches(cluster: Cluster) -> None:
    pod = make_pod("web").prefer_nodes(7, require("gpu", "Exists"))
    assert set(cluster.scores(cluster.plugin(NodeAffinityPlugin), pod).values()) == {0}


def test_scoring_is_skipped_without_preferences(cluster: Cluster) -> None:
    term = {"weight": 3, "preference": {"matchExpressions": [require("disk", "Exists")]}}
    assert pre_scored(cluster, make_pod("web")) == Status.skip()
    assert pre_scored(cluster, make_pod("web").prefer_nodes(1, require("disk", "Exists"))) is None
    assert (
        pre_scored(cluster, make_pod("web"), enforcing(preferredDuringSchedulingIgnoredDuringExecution=[term])) is None
    )


def test_a_preferred_term_that_cannot_be_parsed_is_an_error_that_says_where(cluster: Cluster) -> None:
    pod = make_pod("web").prefer_nodes(1, require("disk", "Exists")).prefer_nodes(2, require("cores", "Gt", "many"))
    status = pre_scored(cluster, pod)
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message == (
        '[1].matchExpressions[0].values[0]: Invalid value: "many": '
        "for 'Gt', 'Lt' operators, the value must be an integer"
    )


def test_empty_preferred_terms_and_terms_of_weight_zero_are_ignored(cluster: Cluster) -> None:
    pod = make_pod("web").prefer_nodes(0, require("cores", "Gt", "many")).prefer_nodes(5)
    assert pre_scored(cluster, pod) == Status.skip()


PICKY = make_pod("picky").node_selector({"disk": "ssd"})
PLAIN, MATCHING = make_node("n"), make_node("n").labels(disk="ssd")


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, MATCHING, Hint.QUEUE),
        (None, PLAIN, Hint.SKIP),
        (PLAIN, MATCHING, Hint.QUEUE),
        (MATCHING, MATCHING, Hint.SKIP),
        (MATCHING, PLAIN, Hint.SKIP),
    ],
)
def test_only_a_node_that_comes_to_match_helps(old: NodeDict | None, new: NodeDict, hint: Hint) -> None:
    (about_nodes,) = Cluster().plugin(NodeAffinityPlugin).events_to_register()
    assert about_nodes.hint is not None
    assert about_nodes.hint(info(PICKY), None if old is None else typed(old), typed(new)) is hint


def test_a_node_that_does_not_match_what_is_enforced_does_not_help() -> None:
    terms = [{"matchExpressions": [require("pool", "Exists")]}]
    args = enforcing(requiredDuringSchedulingIgnoredDuringExecution={"nodeSelectorTerms": terms})
    (about_nodes,) = Cluster().plugin(NodeAffinityPlugin, args).events_to_register()
    assert about_nodes.hint is not None
    assert about_nodes.hint(info(PICKY), None, typed(MATCHING)) is Hint.SKIP
    assert about_nodes.hint(info(PICKY), None, typed(make_node("n").labels(disk="ssd", pool="a"))) is Hint.QUEUE
