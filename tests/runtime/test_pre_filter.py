"""PreFilter: plugins are skipped, narrow the nodes together, or turn the pod away."""

from dataclasses import dataclass

import pytest

from muster.framework.contract import Code, PreFilterResult, Status
from muster.framework.model.pod_info import PodInfo
from muster.framework.runtime.attempt_state import AttemptState
from muster.framework.scheduler.algorithm import Feasible
from tests.builders import make_node, make_pod
from tests.cache.objects import pod as typed_pod
from tests.scheduler.scripted import Log, both_filtering, pre_filtering
from tests.scheduler.stage import Stage

POD: PodInfo = typed_pod(make_pod("web"))


def find(stage: Stage, pod: PodInfo = POD) -> Feasible:
    """What the search finds on nodes `a`, `b` and `c`."""
    stage.put_node(*(make_node(name) for name in "abc"))
    return stage.engine.algorithms["muster"].find_nodes_that_fit(AttemptState(), pod)


def only(*names: str) -> PreFilterResult:
    return PreFilterResult(frozenset(names))


@dataclass(frozen=True)
class Case:
    """What plugins A, B and C answer, and what comes of it.

    Attributes:
        message: of the pod's rejection as a whole; empty when it goes on.
        rejectors: who the queue waits for.
        feasible: the nodes that are left.
    """

    answers: tuple[PreFilterResult | Status | None, ...]
    message: str = ""
    rejectors: tuple[str, ...] = ()
    feasible: str = ""
    code: Code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE


CASES = {
    "nobody has anything against it": Case((None, None), feasible="abc"),
    "the sets of nodes are intersected": Case((only("a", "b"), only("b", "c")), feasible="b", rejectors=("A", "B")),
    "one plugin leaves no node": Case((None, only()), "node(s) didn't satisfy plugin B", rejectors=("B",)),
    "several plugins leave no node together": Case(
        (only("a"), None, only("b")),
        "node(s) didn't satisfy plugin(s) [A C] simultaneously",
        rejectors=("A", "C"),
    ),
    "an unresolvable rejection ends the round": Case(
        (Status.unresolvable("no way"), only()), "no way", rejectors=("A",)
    ),
    "of several rejections the last one counts": Case(
        (Status.unschedulable("not now"), Status.unschedulable("not here"), None),
        "not here",
        rejectors=("B",),
        code=Code.UNSCHEDULABLE,
    ),
    "an unresolvable rejection goes before one that is not": Case(
        (Status.unschedulable("not now"), Status.unresolvable("no way")), "no way", rejectors=("B",)
    ),
    "who narrowed the nodes is held responsible along with who rejected": Case(
        (only("a"), Status.unschedulable("not now")),
        "not now",
        rejectors=("A", "B"),
        code=Code.UNSCHEDULABLE,
    ),
    "a plugin that waits for something outside turns the pod away": Case(
        (Status.pending("more to come"),), "more to come", rejectors=("A",), code=Code.PENDING
    ),
    "a plugin that breaks": Case((None, Status.failure("boom")), 'running PreFilter plugin "B": boom', code=Code.ERROR),
    "nodes that nobody knows are no nodes": Case((only("a", "x"),), feasible="a", rejectors=("A",)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_answers_of_pre_filter_are_joined(case: Case) -> None:
    plugins = [pre_filtering(name, answer) for name, answer in zip("ABC", case.answers, strict=False)]

    found = find(Stage(*plugins))

    pre_filtered = found.pre_filtered
    assert pre_filtered.rejectors == set(case.rejectors)
    assert passing(found) == case.feasible
    if case.message:
        assert pre_filtered.status is not None
        assert (pre_filtered.status.code, pre_filtered.status.message) == (case.code, case.message)
    else:
        assert pre_filtered.status is None


def passing(found: Feasible) -> str:
    """The nodes that pass all plugins."""
    return "" if found.filtered is None else "".join("abc"[row] for row in found.filtered.feasible.tolist())


def test_a_rejection_stands_for_every_node_in_the_message() -> None:
    found = find(Stage(pre_filtering("A", Status.unresolvable("no way"))))

    assert found.status is not None
    assert found.status.message == "0/3 nodes are available: no way."
    assert found.diagnosis is not None
    assert {status.plugin for _, status in found.diagnosis.statuses() if status} == {"A"}
    assert found.diagnosis.unschedulable_plugins == {"A"}


def test_a_plugin_that_waits_for_something_outside_is_distinguished_from_the_others() -> None:
    found = find(Stage(pre_filtering("A", Status.pending("more to come"))))

    assert found.diagnosis is not None
    assert found.diagnosis.pending_plugins == {"A"}


def test_nodes_outside_of_the_sets_are_not_asked_about_and_say_which_plugins_left_them_out() -> None:
    log: Log = []
    narrowing = [pre_filtering(name, only("b", "x")) for name in ("Zones", "Names")]

    found = find(Stage(*narrowing, both_filtering("F", None, log)))

    assert log == ["F filters b"]
    assert found.pre_filtered.absent == Status.unresolvable("node(s) didn't satisfy plugin(s) [Names Zones]")


def test_skip_leaves_out_the_filter_of_that_plugin_alone() -> None:
    log: Log = []

    find(Stage(both_filtering("A", Status.skip(), log), both_filtering("B", None, log)))

    assert log == ["B filters a,b,c"]


def test_later_plugins_are_still_asked_after_a_rejection_but_not_after_an_unresolvable_one() -> None:
    log: Log = []
    plugins = [
        pre_filtering("A", Status.unschedulable("not now"), log),
        pre_filtering("B", Status.unresolvable("no way"), log),
        pre_filtering("C", None, log),
    ]

    find(Stage(*plugins))

    assert log == ["A pre-filters a,b,c", "B pre-filters a,b,c"]
