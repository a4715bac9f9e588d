"""Which pods may be moved at all: each rule, with the move that would be proposed without it."""

from collections.abc import Callable, Sequence

import pytest

from muster.framework.config import read
from muster.framework.contract import CycleState, EvictionLimit, EvictionLimitPlugin, PodInfo, PostBindPlugin
from muster.operator.process.settings import Assembly, assemble
from muster.operator.simulate.evictions import followed_by
from muster.testing import configuration_of
from tests.builders import PodDict, make_node, make_pod
from tests.capacityscheduling.objects import make_quota
from tests.gangscheduling.world import make_group, make_members
from tests.simulate.rehearsing import muster, pod_group

from .world import answer, budget, moved, proposed, running_gang, runs, waits

NODES = [make_node("one", cpu="4"), make_node("two", cpu="4"), make_node("three", cpu="2")]
"""A pod of four cores waits; one core is used on the first node, two on the second: the first is the one to free."""
ELSE = [runs("x", "two", "1"), runs("y", "two", "1")]
"""The pods of the second node, which are moved if the one on the first may not be."""


def timed(**args: int) -> Assembly:
    """With minimum run times."""
    plugins = ("Coscheduling", "PreemptionTiming")
    reading = read(configuration_of(plugins, args={"PreemptionTiming": args}), "test")
    assert reading.configuration is not None
    return assemble(reading.configuration)


def of_daemon_set(pod: PodDict) -> PodDict:
    pod["metadata"]["ownerReferences"] = []
    return pod.owned_by("DaemonSet", "agent")


def mirrored(pod: PodDict) -> PodDict:
    pod["metadata"]["ownerReferences"] = []
    return pod.annotations({"kubernetes.io/config.mirror": "hash"}).owned_by("Node", "one", version="v1")


def alone(pod: PodDict) -> PodDict:
    pod["metadata"]["ownerReferences"] = []
    return pod


def owned_without_controller(pod: PodDict) -> PodDict:
    pod["metadata"]["ownerReferences"] = []
    return pod.owned_by("ReplicaSet", "web", controller=False)


STAY: dict[str, Callable[[PodDict], PodDict]] = {
    "a DaemonSet's": of_daemon_set,
    "a static pod's mirror": mirrored,
    "one without a controller": alone,
    "one whose owner does not control it": owned_without_controller,
    "one that is being deleted": lambda pod: pod.terminating(),
    "one that autoscalers may not evict": lambda pod: pod.annotations(
        {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
    ),
    "one that is not to be disrupted": lambda pod: pod.annotations({"karpenter.sh/do-not-disrupt": "true"}),
}


async def test_without_a_rule_against_it_the_single_pod_is_moved() -> None:
    assert [*moved(await proposed(*NODES, runs("a", "one", "1"), *ELSE, waits("big", "4")))] == ["a"]


@pytest.mark.parametrize("stays", STAY.values(), ids=STAY)
async def test_a_pod_is_never_moved_that_is(stays: Callable[[PodDict], PodDict]) -> None:
    found = await proposed(*NODES, stays(runs("a", "one", "1")), *ELSE, waits("big", "4"))
    assert [*moved(found)] == ["x", "y"]


async def test_a_pod_that_a_budget_protects_is_not_moved() -> None:
    guarded = runs("a", "one", "1").labels(app="db")
    found = await proposed(*NODES, guarded, *ELSE, budget(0, app="db"), waits("big", "4"))
    assert [*moved(found)] == ["x", "y"]


async def test_budgets_hold_for_all_moved_pods_together() -> None:
    pods = [pod.labels(app="db") for pod in (runs("x", "two", "1"), runs("y", "two", "1"))]
    cluster = [*NODES, alone(runs("a", "one", "1")), *pods, waits("big", "4")]
    assert (await answer(*cluster, budget(1, app="db"))).proposal is None
    assert [*moved(await proposed(*cluster, budget(2, app="db")))] == ["x", "y"]


async def test_a_pod_is_not_moved_before_its_minimum_run_time_has_passed() -> None:
    young, *old = runs("a", "one", "1"), runs("x", "two", "1"), runs("y", "two", "1")
    young["status"] = {"startTime": "2025-12-31T23:59:00Z"}
    for pod in old:
        pod["status"] = {"startTime": "2025-12-31T00:00:00Z"}
    cluster = [*NODES, young, *old, waits("big", "4")]
    assert [*moved(await proposed(*cluster, assembly=timed(minRunSeconds=3600)))] == ["x", "y"]
    assert [*moved(await proposed(*cluster, assembly=timed(minRunSeconds=30)))] == ["a"]


async def test_a_minimum_run_time_of_its_group_protects_a_pod() -> None:
    [group, *pods] = running_gang("other", {"o-0": "one"}, "1")
    group["metadata"]["annotations"] = {"muster-scheduler.io/min-run-seconds": "600"}
    for pod in pods:
        pod["status"] = {"startTime": "2025-12-31T23:59:00Z"}
    cluster = [*NODES, group, *pods, *ELSE, waits("big", "4")]
    assert [*moved(await proposed(*cluster, assembly=timed()))] == ["x", "y"]


async def test_a_gang_is_moved_as_a_whole() -> None:
    nodes = [make_node(name, cpu="4") for name in ("one", "two", "three", "four")]
    rest = [runs(f"r-{name}", name, "2") for name in ("two", "three", "four")]
    other = running_gang("other", {"o-0": "one", "o-1": "four"}, "2")
    found = await proposed(*nodes, *other, *[alone(pod) for pod in rest], waits("big", "4"))
    assert [(each.pod, each.group) for each in found.moves] == [
        ("default/o-0", "default/other"),
        ("default/o-1", "default/other"),
    ]


async def test_a_native_gang_is_moved_as_a_whole_though_its_pods_may_be_disrupted_one_by_one() -> None:
    nodes = [make_node(name, cpu="4") for name in ("one", "two", "three", "four")]
    rest = [alone(runs(f"r-{name}", name, "2")) for name in ("two", "three", "four")]
    members = [pod.requests(cpu="2").owned_by("Job", "other") for pod in make_members("other", 2)]
    other = [make_group("other", 2), members[0].node("one"), members[1].node("four")]
    found = await proposed(*nodes, *other, *rest, waits("big", "4"))
    assert [(each.pod, each.group) for each in found.moves] == [
        ("default/other-0", "default/other"),
        ("default/other-1", "default/other"),
    ]


async def test_a_gang_that_does_not_fit_elsewhere_as_a_whole_stays() -> None:
    nodes = [make_node(name, cpu="4") for name in ("one", "two", "three")]
    other = running_gang("other", {"o-0": "one", "o-1": "two", "o-2": "three"}, "2")
    rest = [alone(runs("r-two", "two", "2")), alone(runs("r-three", "three", "1"))]
    cluster = [*nodes, *rest, waits("big", "4")]
    assert (await answer(*cluster, *other)).proposal is None
    lone = runs("o-0", "one", "1")
    assert [*moved(await proposed(*cluster, lone))] == ["o-0"]


async def test_a_pod_of_a_group_that_needs_one_pod_is_moved_alone() -> None:
    _, *pods = running_gang("serving", {"s-0": "one", "s-1": "three"}, "1")
    found = await proposed(*NODES, pod_group("serving", 1), *pods, *ELSE, waits("big", "4"))
    assert [(each.pod, each.group) for each in found.moves] == [("default/s-0", "")]


async def test_a_pod_is_not_moved_that_its_quota_would_not_let_in_again() -> None:
    over = make_pod("a", namespace="ml").requests(cpu="1").node("one").owned_by("ReplicaSet", "web")
    more = make_pod("b", namespace="ml").requests(cpu="1").node("three").owned_by("ReplicaSet", "web")
    quota = make_quota("ml", min={"cpu": "1"}, max={"cpu": "1"})
    cluster = [*NODES, over, alone(more), *ELSE, waits("big", "4")]
    assert [*moved(await proposed(*cluster))] == ["a"]
    assert [*moved(await proposed(*cluster, quota))] == ["x", "y"]


async def test_a_moved_pod_goes_only_where_its_own_rules_let_it() -> None:
    picky = runs("a", "one", "1").node_selector({"disk": "ssd"})
    ssd = make_node("one", cpu="4").labels(disk="ssd")
    assert [*moved(await proposed(ssd, *NODES[1:], picky, *ELSE, waits("big", "4")))] == ["x", "y"]


async def test_pods_of_other_schedulers_are_moved_by_the_same_rules() -> None:
    foreign = runs("a", "one", "1").scheduler("default-scheduler")
    assert [*moved(await proposed(*NODES, foreign, *ELSE, waits("big", "4")))] == ["a"]


async def test_a_pod_that_would_come_back_to_a_cordoned_node_is_not_moved() -> None:
    stubborn = runs("a", "one", "1").tolerate("node.kubernetes.io/unschedulable")
    cluster = [*NODES[:2], stubborn, alone(runs("x", "two", "2")), waits("big", "4")]
    assert (await answer(*cluster)).proposal is None
    assert (await answer(*cluster[:-1], free="nodes")).proposal is None
    del stubborn["spec"]["tolerations"]
    assert [*moved(await proposed(*cluster))] == ["a"]


class Broken(PostBindPlugin, EvictionLimitPlugin):
    """A plugin that fails when it is asked for a limit."""

    name = "Broken"

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Does nothing."""

    def eviction_limit(
        self, members: Sequence[PodInfo], missing: int, priority: int, reason: str
    ) -> EvictionLimit | None:
        raise RuntimeError("broken")


async def test_nothing_is_moved_while_a_plugin_that_protects_pods_fails() -> None:
    report = await answer(
        *NODES, runs("a", "one", "1"), waits("big", "4"), assembly=followed_by(muster(), Broken), free="nodes"
    )
    assert report.proposal is None
    assert report.unhelped[0].reason == "pod default/a stays: its minimum run time never ends"
