"""The choices of preemption: budgets, the importance of victims, the cost of candidates, and how many are compared."""

import asyncio
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.contract import Placed
from muster.framework.model.meta import from_plain
from muster.plugins.defaultpreemption.budgets import DisruptionBudgets, PodDisruptionBudget
from muster.plugins.defaultpreemption.candidates import Candidate, pick_one_node
from muster.plugins.defaultpreemption.victims import (
    Victim,
    by_importance,
    reprieve_order,
    single,
    start_time,
)
from muster.testing.engine import configuration_of
from tests.builders import PodDict, make_node, make_pod
from tests.evicting import Evicting

from .cluster import info

NOW = 1_000_000_000.0


def started(pod: PodDict, hour: int) -> PodDict:
    """The pod, running since this hour of a day long before NOW."""
    pod.setdefault("status", {})["startTime"] = f"2001-01-01T{hour:02}:00:00Z"
    return pod


def budget(name: str, allowed: int, labels: dict[str, str] | None = None, **more: Any) -> PodDisruptionBudget:
    spec = {} if labels is None else {"selector": {"matchLabels": labels}}
    plain = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
        "status": {"disruptionsAllowed": allowed, **more},
    }
    return from_plain(plain, PodDisruptionBudget)


def victim(name: str, priority: int, hour: int = 0, **labels: str) -> Victim:
    return single(info(started(make_pod(name).priority(priority).labels(labels), hour)), "a", NOW)


def group(name: str, priority: int, size: int, hour: int = 0) -> Victim:
    pods = tuple(Placed(info(make_pod(f"{name}-{index}").priority(priority)), "a") for index in range(size))
    return Victim(pods, priority, True, float(hour))


def names(victims: list[Victim] | tuple[Victim, ...]) -> list[str]:
    return [each.pods[0].pod.name for each in victims]


def test_importance_goes_by_priority_then_kind_then_size_then_age() -> None:
    ranked = [
        victim("highest", 9),
        replace(group("tree", 5, 1, hour=9), composite=True),
        group("large", 5, 3, hour=9),
        group("older", 5, 2, hour=1),
        group("younger", 5, 2, hour=2),
        victim("old-pod", 5, hour=1),
        victim("young-pod", 5, hour=2),
        victim("lowest", -1),
    ]
    assert by_importance(ranked[::-1]) == ranked


def test_a_pod_that_has_not_started_counts_as_starting_now() -> None:
    assert start_time(info(make_pod("new")), NOW) == NOW
    assert start_time(info(started(make_pod("old"), 1)), NOW) < NOW


def test_victims_that_violate_budgets_are_reprieved_first() -> None:
    victims = [victim("a", 1, app="db"), victim("b", 3, app="db"), victim("c", 2), victim("d", 4)]
    order = reprieve_order(victims, DisruptionBudgets([budget("db", 1, {"app": "db"})]))
    assert names(order.order) == ["a", "d", "b", "c"]
    assert order.violations == (1, 0, 0, 0)
    assert order.mixed


@pytest.mark.parametrize(
    ("budgets", "violations"),
    [
        pytest.param([budget("one", 1, {"app": "db"})], [0, 1], id="one disruption for two pods"),
        pytest.param([budget("two", 2, {"app": "db"})], [0, 0], id="enough for both"),
        pytest.param([budget("none", 0, {"app": "web"})], [0, 0], id="about other pods"),
        pytest.param([budget("none", 0, {})], [0, 0], id="an empty selector is about none"),
        pytest.param([budget("none", 0)], [0, 0], id="no selector is about none"),
        pytest.param(
            [budget("gone", 0, {"app": "db"}, disruptedPods={"p0": "2001-01-01T00:00:00Z"})], [0, 1], id="p0 goes"
        ),
        pytest.param([budget("a", 0, {"app": "db"}), budget("b", 2, {"app": "db"})], [1, 1], id="every budget counts"),
    ],
)
def test_budgets_say_whose_eviction_they_forbid(budgets: list[PodDisruptionBudget], violations: list[int]) -> None:
    pods = [info(make_pod(f"p{index}").labels(app="db")) for index in range(2)]
    assert DisruptionBudgets(budgets).violations([[pod] for pod in pods]) == violations
    assert DisruptionBudgets(budgets).violations([pods]) == [sum(violations)]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["x", "y", "z"])), max_size=3),
    st.lists(st.lists(st.sets(st.sampled_from(["x", "y", "z"])), max_size=5), max_size=3),
)
def test_pods_that_go_together_use_up_budgets_as_one_after_another_does(
    allowed: list[tuple[int, str]], units: list[list[set[str]]]
) -> None:
    budgets = [budget(f"b{number}", count, {label: "1"}) for number, (count, label) in enumerate(allowed)]
    pods = [[info(make_pod("p").labels(dict.fromkeys(labels, "1"))) for labels in unit] for unit in units]
    one_by_one = iter(DisruptionBudgets(budgets).violations([[pod] for unit in pods for pod in unit]))
    assert DisruptionBudgets(budgets).violations(pods) == [sum(islice(one_by_one, len(unit))) for unit in pods]
    reported = DisruptionBudgets(budgets).forbidding(
        info(make_pod(f"q{number}").labels(each.labels)) for number, each in enumerate(chain(*pods))
    )
    assert len(reported) == sum(DisruptionBudgets(budgets).violations(pods))


def test_a_budget_of_another_namespace_is_about_none() -> None:
    pod = info(make_pod("p", namespace="other").labels(app="db"))
    assert DisruptionBudgets([budget("none", 0, {"app": "db"})]).violations([[pod]]) == [0]


def candidate(name: str, *priorities: int, violations: int = 0, hours: tuple[int, ...] = ()) -> Candidate:
    pods = [started(make_pod(f"{name}{n}").priority(p), (*hours, *[0] * 9)[n]) for n, p in enumerate(priorities)]
    return Candidate(name, tuple(single(info(pod), name, NOW) for pod in pods), violations)


@pytest.mark.parametrize(
    ("cheap", "dear"),
    [
        pytest.param(candidate("a", 9, 9), candidate("b", 0, violations=1), id="fewest violated budgets"),
        pytest.param(candidate("a", 4, 4, 4), candidate("b", 5), id="lowest highest priority"),
        pytest.param(candidate("a", 5, 1), candidate("b", 5, 2), id="smallest sum of priorities"),
        pytest.param(candidate("a", -5), candidate("b", -5, -5), id="fewer although priorities are negative"),
        pytest.param(candidate("a", 5, 1, hours=(3, 0)), candidate("b", 5, 1, hours=(2, 9)), id="latest start"),
        pytest.param(candidate("a", 5), candidate("b", 5), id="the first of equals"),
    ],
)
def test_the_cheapest_candidate_is_picked(cheap: Candidate, dear: Candidate) -> None:
    assert pick_one_node([cheap, dear], NOW) is cheap
    if cheap.victims[0].pod.priority != dear.victims[0].pod.priority:
        assert pick_one_node([dear, cheap], NOW) is cheap


@pytest.mark.parametrize(
    ("percentage", "absolute", "wanted"),
    [(100, 0, 10), (0, 1, 1), (0, 4, 4), (30, 1, 3), (30, 5, 5), (0, 100, 10), (5, 0, 1)],
)
def test_as_many_candidates_are_compared_as_the_arguments_ask_for(percentage: int, absolute: int, wanted: int) -> None:
    """On each node the victim is less important than on those before: the last that is looked at is the cheapest."""

    async def play() -> list[str]:
        args = {"minCandidateNodesPercentage": percentage, "minCandidateNodesAbsolute": absolute}
        world = Evicting(configuration=configuration_of((), args={"DefaultPreemption": args}))
        world.random = lambda: 0.0
        world.add_nodes(*(make_node(f"node-{number}", cpu="1") for number in range(10)))
        running = (make_pod(f"pod-{number}").priority(50 - number).node(f"node-{number}") for number in range(10))
        world.add(*(pod.requests(cpu="1") for pod in running))
        world.add(make_pod("urgent").requests(cpu="1").priority(100))
        await world.run(1.0)
        await world.kill()
        return world.evicted

    assert asyncio.run(play()) == [f"default/pod-{wanted - 1}"]
