"""Every difference between two schedulers in a situation is found, unless it is excused by name."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.gangscheduling.parity import verdict
from tests.gangscheduling.parity.observed import Observed, ObservedGroup, ObservedPod
from tests.gangscheduling.parity.verdict import Scope, compare
from tests.parity.choices import Choice
from tests.parity.world import Condition

SCOPE = Scope(acting="gang")
BOUND = Condition("PodScheduled", "True", "", "", 1)
REPORTED = Condition("PodScheduled", "False", "Unschedulable", "0/2 nodes are available: 2 Insufficient cpu.", 1)
STARTED = Condition("PodGroupInitiallyScheduled", "True", "Scheduled", "", 1)
WAITS = Condition("PodGroupInitiallyScheduled", "False", "Unschedulable", "minCount (3) cannot be satisfied", 1)
SCORES = {"node-0": 80, "node-1": 80, "node-2": 60}
POD = ObservedPod("node-0", "", (BOUND,), Choice(80, 3, 2))
LEFT = ObservedPod("", "", (REPORTED,))
RUNS = ObservedGroup(2, False, frozenset("a"), (STARTED,), {"g-0": POD, "g-1": POD, "g-2": LEFT})
STUCK = ObservedGroup(2, False, frozenset(), (WAITS,), {"g-0": LEFT, "g-1": LEFT})


def seen(group: ObservedGroup, evicted: str = "", pods: Mapping[str, ObservedPod] = {}, **changes: Any) -> Observed:
    return Observed({"gang": replace(group, pods={**group.pods, **pods}, **changes)}, frozenset(evicted.split()))


def theirs_scored(group: ObservedGroup, **changes: Any) -> Observed:
    """kube-scheduler's decision, the only one with its scores."""
    pods = {name: replace(pod, scores=SCORES if pod.node else {}) for name, pod in group.pods.items()}
    return seen(group, pods=pods, **changes)


@pytest.mark.parametrize("group", [RUNS, STUCK])
def test_the_same_does_not_differ_and_needs_no_excuse(group: ObservedGroup) -> None:
    found = compare(theirs_scored(group), seen(group), SCOPE)
    assert (found.differences, found.excused, found.parted) == ([], {}, False)


def pod(**changes: Any) -> ObservedPod:
    return replace(POD, **changes)


@pytest.mark.parametrize(
    ("ours", "begins"),
    [
        (seen(RUNS, pods={"g-1": LEFT}), "gang bound"),
        (seen(RUNS, pods={"g-1": LEFT, "g-2": POD}), "gang bound"),
        (seen(RUNS, pods={"g-1": pod(node="node-2", choice=Choice(60, 3, 1))}), "node of g-1"),
        (seen(RUNS, pods={"g-1": pod(node="node-1", choice=Choice(81, 3, 1))}), "node of g-1"),
        (seen(RUNS, pods={"g-1": pod(choice=Choice(79, 3, 2))}), "choice of g-1"),
        (seen(RUNS, pods={"g-1": pod(choice=Choice(80, 3, 1))}), "choice of g-1"),
        (seen(RUNS, pods={"g-1": pod(choice=None)}), "choice of g-1"),
        (seen(RUNS, pods={"g-1": pod(conditions=())}), "reported g-1"),
        (seen(RUNS, pods={"g-1": pod(nominated="node-0")}), "reported g-1"),
        (seen(RUNS, conditions=()), "conditions of gang"),
        (seen(RUNS, conditions=(WAITS,)), "conditions of gang"),
        (seen(RUNS, conditions=(STARTED._replace(message="x"),)), "conditions of gang"),
        (seen(RUNS, conditions=(STARTED._replace(generation=2),)), "conditions of gang"),
        (seen(RUNS, conditions=(STARTED, BOUND)), "conditions of gang"),
        (seen(RUNS, pods={"g-2": replace(LEFT, nominated="node-0")}), "reported g-2"),
        (seen(RUNS, pods={"g-2": ObservedPod()}), "reported g-2"),
        (seen(RUNS, pods={"g-2": replace(LEFT, conditions=(REPORTED._replace(message="x"),))}), "reported g-2"),
        (seen(RUNS, pods={"g-2": replace(LEFT, conditions=(REPORTED._replace(reason="x"),))}), "reported g-2"),
        (seen(RUNS, evicted="low-0"), "evicted"),
    ],
)
def test_each_thing_counts(ours: Observed, begins: str) -> None:
    found = compare(theirs_scored(RUNS), ours, SCOPE)
    assert found.differences[0].startswith(begins)


def test_the_text_of_a_group_that_waits_counts() -> None:
    ours = seen(STUCK, conditions=(WAITS._replace(message="minCount (3) cannot be satisfied: 1 scheduled"),))
    assert compare(seen(STUCK), ours, SCOPE).differences != []


def test_another_domain_counts_unless_it_scored_as_high() -> None:
    racked = replace(RUNS, constrained=True)
    for placements, excused in (({"a": 9, "b": 9}, True), ({"a": 9, "b": 8}, False), ({"a": 8, "b": 9}, False)):
        found = compare(seen(racked, placements=placements), seen(racked, domains=frozenset("b")), SCOPE)
        assert (found.differences == []) is excused
    assert compare(seen(racked), seen(racked, domains=frozenset("b")), SCOPE).differences != []


_WRAP = verdict._NO_PLACEMENT
_VERDICTS: dict[str, Callable[[], verdict.Verdict]] = {
    verdict.TIED_NODES: lambda: compare(
        theirs_scored(RUNS), seen(RUNS, pods={"g-1": pod(node="node-1", choice=Choice(80, 3, 2))}), SCOPE
    ),
    verdict.TIED_DOMAINS: lambda: compare(
        seen(RUNS, constrained=True, placements={"a": 9, "b": 9}),
        seen(RUNS, constrained=True, domains=frozenset("b")),
        SCOPE,
    ),
    verdict.OTHER_VICTIMS: lambda: compare(
        seen(RUNS, evicted="low-0 low-1"), seen(RUNS, evicted="low-2"), Scope("gang", evictors=frozenset({"gang"}))
    ),
    verdict.NOT_CALLED_SCHEDULED: lambda: compare(seen(RUNS, conditions=(WAITS,)), seen(RUNS), SCOPE),
    verdict.LATER_TEXT: lambda: compare(
        seen(RUNS, conditions=(STARTED._replace(message="pod group is unschedulable"),)), seen(RUNS), SCOPE
    ),
    verdict.WRAPPED: lambda: compare(
        seen(STUCK, conditions=(WAITS._replace(message=_WRAP + WAITS.message),)), seen(STUCK), SCOPE
    ),
    verdict.SOME_DOMAIN: lambda: compare(
        seen(STUCK, constrained=True, conditions=(WAITS._replace(message=_WRAP + "this"),)),
        seen(STUCK, constrained=True, conditions=(WAITS._replace(message=_WRAP + "that"),)),
        SCOPE,
    ),
    verdict.CLAIMS: lambda: compare(
        seen(STUCK, conditions=(WAITS._replace(message=f"{WAITS.message}{verdict._NO_CLAIMS}"),)), seen(STUCK), SCOPE
    ),
    verdict.IN_A_TREE: lambda: compare(
        seen(STUCK, pods={"g-0": replace(LEFT, conditions=(REPORTED._replace(message="the tree"),))}),
        seen(STUCK),
        replace(SCOPE, in_tree=True),
    ),
    verdict.ONE_FOR_ALL: lambda: compare(
        seen(RUNS, pods={"g-3": LEFT}), seen(RUNS, pods={"g-3": ObservedPod()}), SCOPE
    ),
    verdict.WAITS_BESIDE: lambda: compare(
        seen(STUCK, conditions=(WAITS._replace(message="minCount (4) cannot be satisfied"),)),
        seen(STUCK),
        Scope(acting="another"),
    ),
}


@pytest.mark.parametrize("excuse", _VERDICTS)
def test_an_excuse_is_counted_by_its_name(excuse: str) -> None:
    found = _VERDICTS[excuse]()
    assert (found.differences, found.excused) == ([], {excuse: 1})


@pytest.mark.parametrize(
    ("theirs", "ours", "group"),
    [
        ("pod group is unschedulable", "x", RUNS),
        ("x", "", RUNS),
        ("pod group is unschedulable", "", replace(RUNS, pods={"g-0": POD, "g-1": POD})),
    ],
    ids=["Muster says something else", "not the text of an attempt", "no pod is left"],
)
def test_another_text_of_a_group_that_is_called_scheduled_counts(theirs: str, ours: str, group: ObservedGroup) -> None:
    mine, other = (seen(group, conditions=(STARTED._replace(message=message),)) for message in (theirs, ours))
    assert compare(mine, other, SCOPE).differences != []


def test_the_text_of_a_part_may_be_that_of_an_attempt_for_other_parts() -> None:
    full = replace(RUNS, pods={"g-0": POD, "g-1": POD})
    theirs = seen(full, conditions=(STARTED._replace(message="pod group is unschedulable"),))
    assert compare(theirs, seen(full), replace(SCOPE, in_tree=True)).differences == []


@pytest.mark.parametrize(
    ("constrained", "domains", "scores", "differs"),
    [
        (False, "ab", {}, False),
        (True, "ab", {"a": 9, "b": 9}, True),
        (True, "b", {"a": 9, "b": 8}, True),
        (True, "b", {}, True),
        (True, "b", {"a": 9, "b": 9}, False),
    ],
    ids=["anywhere", "two domains", "lower score", "no other domain", "equal score"],
)
def test_the_domain_of_a_preemptor_counts_unless_it_scored_as_high(
    constrained: bool, domains: str, scores: dict[str, int], differs: bool
) -> None:
    theirs = seen(RUNS, evicted="low-0 low-1", constrained=constrained, placements=scores)
    ours = seen(RUNS, evicted="low-2", constrained=constrained, domains=frozenset(domains))
    found = compare(theirs, ours, Scope("gang", evictors=frozenset({"gang"})))
    assert (found.differences != []) is differs


@pytest.mark.parametrize(("domain", "differs"), [("a", True), ("b", False)])
def test_more_evictions_count_unless_they_are_in_another_equal_domain(domain: str, differs: bool) -> None:
    theirs = seen(RUNS, evicted="low-0", constrained=True, placements={"a": 9, "b": 9})
    ours = seen(RUNS, evicted="low-1 low-2", constrained=True, domains=frozenset(domain))
    found = compare(theirs, ours, Scope("gang", evictors=frozenset({"gang"})))
    assert (found.differences != []) is differs


def test_the_domain_of_a_group_does_not_count_after_an_earlier_one_got_another_equal_node() -> None:
    racked = replace(RUNS, constrained=True, placements={"a": 9, "b": 8})
    tied = seen(RUNS, pods={"g-1": pod(node="node-1", choice=Choice(80, 3, 2))}).groups["gang"]
    theirs = Observed({"first": theirs_scored(RUNS).groups["gang"], "second": racked}, frozenset())
    ours = Observed({"first": tied, "second": replace(racked, domains=frozenset("b"))}, frozenset())
    assert compare(theirs, ours, SCOPE).differences == []
    assert (
        compare(
            replace(theirs, groups={"second": racked}), replace(ours, groups={"second": ours.groups["second"]}), SCOPE
        ).differences
        != []
    )


@pytest.mark.parametrize("in_tree", [False, True])
def test_the_text_of_a_constrained_part_may_be_that_of_an_unconstrained_group_above_it(in_tree: bool) -> None:
    theirs = seen(STUCK, constrained=True, conditions=(WAITS._replace(message=_WRAP + WAITS.message),))
    found = compare(theirs, seen(STUCK, constrained=True), replace(SCOPE, in_tree=in_tree))
    assert (found.differences == []) is in_tree


def test_the_label_that_no_node_has_is_excused_beside_the_words_of_kube_scheduler() -> None:
    reported = "no feasible placements found"
    theirs, ours = (
        seen(STUCK, constrained=True, conditions=(WAITS._replace(message=message),))
        for message in (reported, f"{reported}: no node has the label rack")
    )
    found = compare(theirs, ours, SCOPE)
    assert (found.differences, found.excused) == ([], {verdict.SOME_DOMAIN: 1})


def test_more_or_no_evictions_and_an_evictor_that_fares_otherwise_are_differences() -> None:
    scope = Scope("gang", evictors=frozenset({"gang"}))
    one, two = seen(RUNS, evicted="low-0"), seen(RUNS, evicted="low-1 low-2")
    assert compare(one, two, scope).differences != []
    assert compare(one, seen(RUNS), scope).differences != []
    assert compare(two, seen(STUCK, evicted="low-0", pods={"g-2": LEFT}), scope).differences != []
