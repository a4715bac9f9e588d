"""Times beside everything else that limits evictions: budgets, other plugins, profiles, extenders, native groups."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from muster.framework.contract import (
    CycleState,
    EvictionLimit,
    EvictionLimitPlugin,
    EvictionRule,
    EvictionRulePlugin,
    PodInfo,
    PostBindPlugin,
)
from muster.framework.groups import MIN_RUN, PREEMPTION_DELAY
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.explain import explain
from muster.framework.scheduler.ports import Ports
from muster.plugins.gangscheduling.api import NAME as GANG_SCHEDULING
from muster.plugins.gangscheduling.book import NativePodGroups
from muster.testing import configuration_of
from muster.testing.cluster import info
from tests.builders import make_node
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, make_composite, make_members
from tests.gangscheduling.world import make_group as make_native
from tests.preemptiontiming.world import PLUGINS, TimingWorld, high, low
from tests.scheduler.played_extender import PlayedExtender


class Curfew(EvictionLimitPlugin[None], PostBindPlugin[None]):
    """Lets nobody evict before a moment, and protects one pod until another."""

    name = "Curfew"
    opens = 0.0
    favourite = "", 0.0

    def eviction_limit(
        self, members: Sequence[PodInfo], missing: int, priority: int, reason: str
    ) -> EvictionLimit | None:
        now, (name, until) = self.handle.clock.wall(), self.favourite
        protected = until if until > now else 0.0
        opens = self.opens if self.opens > now else 0.0
        return EvictionLimit(opens, "a curfew", lambda pod: protected if pod.name == name else 0.0)

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        pass


class Warden(EvictionRulePlugin[None], PostBindPlugin[None]):
    """The rule of priorities with a limit of its own: fails about one pod, and protects another until a moment."""

    name = "Warden"
    favourite = "", 0.0

    def eviction_rule(self, members: Sequence[PodInfo], missing: int, priority: int) -> EvictionRule | None:
        return EvictionRule(priority, limit=EvictionLimit(protected_until=self._protected_until))

    def may_claim(self, pods: Sequence[PodInfo], missing: int) -> bool:
        return False

    def _protected_until(self, pod: PodInfo) -> float:
        if pod.name == "unspeakable":
            raise RuntimeError("no word about this one")
        name, until = self.favourite
        return until if pod.name == name and until > self.handle.clock.wall() else 0.0

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        pass


class TwoLimits(TimingWorld):
    """A cluster in which two plugins limit evictions. Only PreemptionTiming retries who waits for either."""

    def __init__(self, *names: str, profiles: Sequence[str] = ("muster",)) -> None:
        args = {"PreemptionTiming": {"delaySeconds": 10, "minRunSeconds": 100}}
        document = configuration_of(names, names=profiles, args=args)
        super(TimingWorld, self).__init__(Curfew, Warden, configuration=document)


NODES = [make_node(name, cpu="2") for name in ("one", "two")]


def annotate(found: dict[str, Any], **times: str) -> dict[str, Any]:
    keys = {"delay": PREEMPTION_DELAY, "min_run": MIN_RUN}
    found["metadata"]["annotations"] = {keys[name]: text for name, text in times.items()}
    return found


async def test_a_budget_is_violated_rather_than_a_minimum_run_time() -> None:
    world = TimingWorld(minRunSeconds=60)
    world.nodes("one", "two")
    spec = {"selector": {"matchLabels": {"app": "db"}}}
    meta = {"name": "db", "namespace": "default"}
    world.api.put("poddisruptionbudgets", {"metadata": meta, "spec": spec, "status": {"disruptionsAllowed": 0}})
    world.runs(low("guarded").labels({"app": "db"}), "one", since=100)
    world.runs(low("young"), "two", since=1)
    world.add(high("urgent"))
    await world.run(2)
    assert world.evicted == ["default/guarded"]


async def test_a_claim_that_a_budget_forbids_does_not_speak_of_time() -> None:
    world = TimingWorld(minRunSeconds=60)
    world.nodes("one", "two")
    world.quota("ml", "2")
    world.quota("dev", "2")
    meta = {"name": "db", "namespace": "ml"}
    spec = {"selector": {"matchLabels": {"app": "db"}}}
    world.api.put("poddisruptionbudgets", {"metadata": meta, "spec": spec, "status": {"disruptionsAllowed": 0}})
    for name, node in (("a", "one"), ("b", "two")):
        world.runs(low(name, namespace="ml").labels({"app": "db"}), node, since=1)
    [key] = world.add(low("claim", namespace="dev"))
    await world.run(2)
    assert "minimum run time" not in world.message(key)
    await world.run(100)
    assert world.evicted == []


async def test_a_victim_goes_only_if_the_limits_of_all_plugins_permit_it() -> None:
    world = TwoLimits("Curfew", *PLUGINS)
    world.add_nodes(*NODES)
    wall = world.clock.wall()
    world.api.put("pods", low("a").node("one"))
    world.api.put("pods", low("b").node("two"))
    for key in ("default/a", "default/b"):
        world.api.change("pods", key, lambda pod: pod.update(status={"startTime": "2025-01-01T00:00:00Z"}))
    world.nodes("three")
    world.runs(low("young").priority(-10), "three", since=1)
    limit = world.engine.algorithms["muster"].framework.plugins.plugins["Curfew"]
    assert isinstance(limit, Curfew)
    limit.opens, limit.favourite = wall + 50, ("a", wall + 200)
    [key] = world.add(high("urgent"))
    await world.run(1)
    assert world.conditions[key][1].endswith("due to a curfew")
    await world.run(48)
    assert world.evicted == []
    await world.run(2)
    assert world.evicted == ["default/b"]


async def test_the_limit_of_a_rule_holds_beside_those_of_other_plugins_and_protects_pods_about_which_it_fails() -> None:
    world = TwoLimits("Warden", *PLUGINS)
    world.nodes("one", "two", "three")
    for name, node, since in (("unspeakable", "one", 500), ("favourite", "two", 500), ("young", "three", 1)):
        world.runs(low(name), node, since=since)
    rule = world.engine.algorithms["muster"].framework.plugins.plugins["Warden"]
    assert isinstance(rule, Warden)
    rule.favourite = "favourite", world.clock.wall() + 50
    world.add(high("urgent"))
    await world.run(48)
    assert world.evicted == []
    await world.run(5)
    assert world.evicted == ["default/favourite"]


async def test_the_limits_are_those_of_the_preemptors_profile() -> None:
    world = TwoLimits(*PLUGINS, profiles=["muster", "other"])
    world.add_nodes(*NODES)
    limited = world.engine.algorithms["muster"].framework.plugins.plugins["PreemptionTiming"]
    other = world.engine.algorithms["other"].framework.plugins.plugins["PreemptionTiming"]
    limited.args = limited.args.model_copy(update={"delay_seconds": 0, "min_run_seconds": 0})
    assert other.args.delay_seconds == 10
    world.api.put("pods", low("a").node("one"))
    world.api.put("pods", low("b").node("two"))
    world.add(high("patient").scheduler("other"))
    await world.run(5)
    assert world.evicted == []
    world.add(high("urgent"))
    await world.run(1)
    assert len(world.evicted) == 1


class Extended(TimingWorld):
    """A cluster with an extender that names the victims."""

    def build(self, ports: Ports) -> Engine:
        """With the extender."""
        self.extender = PlayedExtender(evicts={})
        return super().build(replace(ports, extenders=(self.extender,)))


async def test_a_victim_that_an_extender_names_is_protected_too() -> None:
    world = Extended(minRunSeconds=60)
    world.nodes("one")
    world.runs(low("old", cpu="1"), "one", since=100)
    young = world.runs(low("young", cpu="1"), "one", since=1)
    world.extender.evicts = {"one": [world.api.pods[young]["metadata"]["uid"]]}
    [key] = world.add(high("urgent", cpu="1"))
    await world.run(3)
    assert world.extender.asked[0] == "preempt urgent: one=old"
    assert world.evicted == []
    assert world.message(key).endswith("preemption: no candidate node for preemption")


async def test_a_native_group_and_the_groups_above_it_say_what_counts() -> None:
    world = TimingWorld(delaySeconds=5)
    world.nodes("one", "two")
    world.api.put(COMPOSITE_KIND, annotate(make_composite("tree", 1), min_run="60", delay="20"))
    part = make_native("part", 1, parentCompositePodGroupName="tree")
    world.api.put(KIND, annotate(part, delay="0"))
    [member] = make_members("part", 1, cpu="2")
    world.runs(member, "one", since=20)
    world.runs(high("dear", priority=1000), "two", since=1000)
    world.add(high("urgent"))
    await world.run(39)
    assert world.evicted == []
    await world.run(2)
    assert world.evicted == ["default/part-0"]


async def test_an_explanation_says_until_when_a_pod_would_wait() -> None:
    world = TimingWorld(minRunSeconds=60)
    world.nodes("one")
    world.runs(low("victim"), "one", since=20)
    await world.settle()
    found = explain(world.engine.algorithms["muster"], info(high("urgent")))
    assert found.message.endswith(f"may be evicted before {world.date(40)} due to their minimum run time")
    assert found.evictions is None


@pytest.mark.parametrize(
    ("timing", "reason"),
    [
        ({"delaySeconds": 30}, "due to a preemption delay of 30s"),
        ({"minRunSeconds": 50}, "due to their minimum run time"),
    ],
)
async def test_a_tree_that_claims_for_fewer_members_waits_and_says_until_when(
    timing: dict[str, Any], reason: str
) -> None:
    world = TimingWorld(**timing)
    world.nodes("one", "two")
    world.quota("ml", "2")
    world.quota("default", "2")
    world.runs(low("covered", namespace="ml"), "one", since=1000)
    world.runs(low("borrowed", namespace="ml"), "two", since=20)
    world.api.put(COMPOSITE_KIND, make_composite("tree", 1))
    world.api.put(KIND, make_native("part", 1, parentCompositePodGroupName="tree"))
    date = world.date(30)
    keys = world.add(*make_members("part", 2, cpu="2"))
    await world.run(29)
    groups = world.engine.shared[GANG_SCHEDULING]
    assert isinstance(groups, NativePodGroups)
    announced = groups.record("default/part").announced
    assert announced is not None
    assert announced.message.endswith(f"before {date} {reason}")
    assert world.evicted == []
    await world.run(3)
    assert world.evicted == ["ml/borrowed"]
    await world.run(10)
    assert sum(bool(world.node_of(key)) for key in keys) == 1
