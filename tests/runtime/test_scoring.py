"""Score: plugins' scores are normalised, weighted and added up; a wrong one is an error with kube-scheduler's words."""

import pytest

from muster.framework.authoring import normalize_to_highest
from muster.framework.contract import CycleState, DependsOn, PreScorePlugin, Status
from muster.framework.model.pod_info import PodInfo
from muster.framework.runtime.attempt_state import AttemptState
from muster.framework.runtime.results import Scored
from muster.framework.scheduler.algorithm import Algorithm
from muster.framework.scheduler.ports import first_of_equals
from muster.framework.snapshot.view import NodeView
from tests.builders import make_node, make_pod
from tests.cache.objects import pod as typed_pod
from tests.scheduler.scripted import Log, broken, filtering, scoring
from tests.scheduler.stage import Stage

POD = typed_pod(make_pod("web"))
RANGE = "it should in the range of [0, 100] after normalizing"


def search(stage: Stage, *nodes: str) -> Algorithm:
    stage.put_node(*(make_node(name) for name in nodes))
    return stage.engine.algorithms["muster"]


def rank(stage: Stage, *nodes: str) -> Scored | Status:
    """What the plugins say about the nodes that pass."""
    found_by, state = search(stage, *nodes), AttemptState()
    return found_by.prioritize_nodes(state, POD, found_by.find_nodes_that_fit(state, POD).rows)


def choose(stage: Stage, *nodes: str) -> str | Status:
    """The name of the best node."""
    chooser, state = search(stage, *nodes), AttemptState()
    row = chooser.select_host(state, POD, chooser.find_nodes_that_fit(state, POD), first_of_equals)
    return row if isinstance(row, Status) else stage.engine.cache.snapshot.names[row]


def test_scores_are_weighted_and_added_up() -> None:
    stage = Stage(scoring("A", {"a": 10, "b": 20}), scoring("B", {"a": 100}), weights={"A": 3, "B": 1})

    scored = rank(stage, "a", "b")

    assert isinstance(scored, Scored)
    assert {name: scores.tolist() for name, scores in scored.by_plugin.items()} == {"A": [30, 60], "B": [100, 0]}
    assert scored.totals.tolist() == [130, 60]


def test_the_best_node_is_chosen_and_of_equals_the_first() -> None:
    assert choose(Stage(scoring("A", {"b": 7, "c": 7})), "a", "b", "c") == "b"
    assert choose(Stage(scoring("A", {"b": 7, "c": 8})), "a", "b", "c") == "c"


def test_scores_are_normalised_over_the_nodes_that_pass() -> None:
    scores = scoring("A", {"a": 1000, "b": 4, "c": 2}, normalized=lambda scores: normalize_to_highest(scores))
    stage = Stage(filtering("F", {"a": Status.unschedulable("full")}), scores)

    scored = rank(stage, "a", "b", "c")

    assert isinstance(scored, Scored)
    assert scored.totals.tolist() == [100, 50]


@pytest.mark.parametrize(("score", "wrong"), [(101, 101), (-1, -1), (2**40, 2**40)])
def test_a_score_out_of_range_is_an_error(score: int, wrong: int) -> None:
    answer = rank(Stage(scoring("A", {"b": score})), "a", "b")

    text = f'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score {wrong}, {RANGE}'
    assert answer == Status.failure(text).by("A")


@pytest.mark.parametrize("score", [0, 100])
def test_the_ends_of_the_range_are_in_it(score: int) -> None:
    scored = rank(Stage(scoring("A", {"a": score})), "a", "b")

    assert isinstance(scored, Scored)
    assert scored.totals.tolist() == [score, 0]


def test_an_error_in_pre_score_ends_the_attempt() -> None:
    answer = rank(Stage(scoring("A", {}, pre_score=Status.failure("boom"))), "a", "b")

    assert answer == Status.failure('running PreScore plugin "A": boom').by("A")


def test_where_no_plugin_scores_none_is_asked_to_prepare() -> None:
    class Preparing(PreScorePlugin):
        name = "Preparing"

        def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
            return Status.failure("boom")

    scored = rank(Stage(Preparing), "a", "b")

    assert isinstance(scored, Scored)
    assert scored.totals.tolist() == [0]


def test_skip_leaves_out_the_score_of_that_plugin_alone() -> None:
    log: Log = []
    stage = Stage(scoring("A", {"a": 9}, log, pre_score=Status.skip()), scoring("B", {"b": 1}, log))

    assert choose(stage, "a", "b") == "b"
    assert log == ["B scores a,b"]


def test_a_single_node_is_not_scored() -> None:
    log: Log = []

    assert choose(Stage(scoring("A", {}, log)), "a") == "a"
    assert log == []


async def test_without_any_plugin_that_scores_nodes_get_their_turn() -> None:
    stage = Stage(filtering("F", {"b": Status.unschedulable("full")}))
    search(stage, "a", "b", "c")

    stage.put_pod(*(make_pod(f"web-{number}") for number in range(4)))
    await stage.settle()

    cache = stage.engine.cache
    assert [cache.node_of(stage.uid(f"default/web-{number}")) for number in range(4)] == ["a", "c", "a", "c"]


def test_a_score_about_a_node_alone_is_asked_for_once_and_then_for_nodes_that_changed() -> None:
    log: Log = []
    stage = Stage(scoring("A", {"n1": 5}, log, depends_on=DependsOn.NODE))
    rank(stage, *(f"n{number}" for number in range(6)))
    log.clear()

    rank(stage)
    stage.put_node(make_node("n4", cpu="8"))
    scored = rank(stage)

    assert log == ["A scores n4"]
    assert isinstance(scored, Scored)
    assert scored.totals.tolist() == [0, 5, 0, 0, 0, 0]


def test_a_plugin_that_raises_while_scoring_is_an_error_of_the_attempt() -> None:
    stage = Stage(broken(scoring("A", {}), "score", ZeroDivisionError("by nothing")))
    stage.put_node(make_node("a"), make_node("b"))
    stage.put_pod(make_pod("web"))

    assert stage.step()

    assert stage.conditions["default/web"] == (
        "SchedulerError",
        'running Score plugins: plugin "A" failed with: by nothing',
        "",
    )
    assert stage.place("default/web") == "error backoff"
