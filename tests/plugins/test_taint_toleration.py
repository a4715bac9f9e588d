"""TaintToleration: taints that keep pods off and taints that are merely disliked."""

import pytest

from muster.framework.contract import Hint, Status
from muster.plugins.nodes.taint_toleration import TaintToleration
from tests.builders import NodeDict, make_node, make_pod
from tests.plugins.cluster import Cluster, info, typed

TAINTED = Status.unresolvable("node(s) had untolerated taint(s)")


@pytest.fixture
def cluster() -> Cluster:
    """A plain node, and one for each effect of a taint."""
    return Cluster(
        make_node("plain"),
        make_node("scheduling").taint("spot", "a", effect="NoSchedule"),
        make_node("executing").taint("spot", "a", effect="NoExecute"),
        make_node("preferring").taint("spot", "a", effect="PreferNoSchedule"),
    )


def test_a_node_turns_pods_away_by_taints_of_the_two_hard_effects(cluster: Cluster) -> None:
    rejected = cluster.rejected(cluster.plugin(TaintToleration), make_pod("web"))
    assert rejected == {"scheduling": TAINTED, "executing": TAINTED}


def test_a_toleration_lets_the_pod_on(cluster: Cluster) -> None:
    assert cluster.rejected(cluster.plugin(TaintToleration), make_pod("web").tolerate("spot", value="a")) == {}


def test_a_toleration_of_one_effect_covers_no_other(cluster: Cluster) -> None:
    pod = make_pod("web").tolerate("spot", effect="NoSchedule")
    assert cluster.rejected(cluster.plugin(TaintToleration), pod).keys() == {"executing"}


def test_every_taint_has_to_be_tolerated() -> None:
    cluster = Cluster(make_node("twice").taint("spot").taint("gpu"))
    assert cluster.rejected(cluster.plugin(TaintToleration), make_pod("web").tolerate("spot")).keys() == {"twice"}


def test_taints_that_appear_later_are_judged_too(cluster: Cluster) -> None:
    plugin = cluster.plugin(TaintToleration)
    pod = make_pod("web").tolerate("spot")
    assert cluster.rejected(plugin, pod) == {}
    cluster.add(make_node("plain").taint("gpu"), make_node("late").taint("spot", "new"))
    assert cluster.rejected(plugin, pod) == {"plain": TAINTED}


def test_taints_that_change_all_day_are_judged_as_they_are() -> None:
    cluster = Cluster(make_node("one"), make_node("two").taint("spot", "7"))
    plugin = cluster.plugin(TaintToleration)
    pod = make_pod("web").tolerate("spot", value="7")
    for second in range(1000):
        cluster.add(make_node("one").taint("spot", str(second % 500)))
        assert cluster.rejected(plugin, pod) == ({} if second % 500 == 7 else {"one": TAINTED})


def disliked(name: str, number: int) -> NodeDict:
    node = make_node(name)
    for index in range(number):
        node.taint(f"taint-{index}", effect="PreferNoSchedule")
    return node


def test_fewer_disliked_taints_score_better_in_truncated_per_cent_of_the_most() -> None:
    cluster = Cluster(disliked("none", 0), disliked("one", 1), disliked("two", 2), disliked("three", 3))
    scores = cluster.scores(cluster.plugin(TaintToleration), make_pod("web"))
    assert scores == {"none": 100, "one": 67, "two": 34, "three": 0}


def test_tolerated_taints_are_not_disliked() -> None:
    cluster = Cluster(disliked("none", 0), disliked("two", 2))
    pod = make_pod("web").tolerate("taint-0", effect="PreferNoSchedule").tolerate("taint-1")
    assert cluster.scores(cluster.plugin(TaintToleration), pod) == {"none": 100, "two": 100}


def test_hard_taints_do_not_count_as_disliked(cluster: Cluster) -> None:
    scores = cluster.scores(cluster.plugin(TaintToleration), make_pod("web"))
    assert scores == {"plain": 100, "scheduling": 100, "executing": 100, "preferring": 0}


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, make_node("n"), Hint.QUEUE),
        (None, make_node("n").taint("spot"), Hint.SKIP),
        (make_node("n").taint("spot"), make_node("n"), Hint.QUEUE),
        (make_node("n").taint("spot"), make_node("n").taint("spot", effect="PreferNoSchedule"), Hint.QUEUE),
        (make_node("n"), make_node("n"), Hint.SKIP),
        (make_node("n").taint("spot"), make_node("n").taint("gpu"), Hint.SKIP),
    ],
)
def test_only_a_node_that_lets_the_pod_on_at_last_helps(old: NodeDict | None, new: NodeDict, hint: Hint) -> None:
    about_nodes, _ = Cluster().plugin(TaintToleration).events_to_register()
    assert about_nodes.hint is not None
    assert about_nodes.hint(info(make_pod("web")), None if old is None else typed(old), typed(new)) is hint
