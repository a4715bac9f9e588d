"""Filter: the first plugin that rejects a node is the one that is reported, and the others are counted."""

from muster.framework.contract import DependsOn, PreFilterResult, Status
from muster.framework.runtime.attempt_state import AttemptState
from muster.framework.scheduler.algorithm import Feasible
from tests.builders import make_node, make_pod
from tests.cache.objects import pod as typed_pod
from tests.scheduler.scripted import Log, broken, filtering, pre_filtering, scoring
from tests.scheduler.stage import Stage

FULL = Status.unschedulable("full")
TAINTED = Status.unresolvable("tainted")


def find(stage: Stage, *nodes: str) -> Feasible:
    stage.put_node(*(make_node(name) for name in nodes))
    return stage.engine.algorithms["muster"].find_nodes_that_fit(AttemptState(), typed_pod(make_pod("web")))


def verdicts(found: Feasible) -> dict[str, tuple[str, str]]:
    """Who turned each node away, and why."""
    assert found.filtered is not None
    reported = () if found.diagnosis is None else found.diagnosis.statuses()
    return {name: (status.plugin, status.message) for name, status in reported if status is not None}


def test_the_first_plugin_that_rejects_a_node_is_reported() -> None:
    found = find(Stage(filtering("A", {"a": TAINTED}), filtering("B", {"a": FULL, "b": FULL})), "a", "b")

    assert verdicts(found) == {"a": ("A", "tainted"), "b": ("B", "full")}
    assert found.status is not None
    assert found.status.message == "0/2 nodes are available: 1 full, 1 tainted."
    assert found.diagnosis is not None
    assert found.diagnosis.unschedulable_plugins == {"A", "B"}


def test_a_plugin_does_not_filter_nodes_that_earlier_plugins_rejected() -> None:
    log: Log = []

    find(
        Stage(filtering("A", {"a": FULL}, log), filtering("B", {"c": FULL}, log), filtering("C", {}, log)),
        "a",
        "b",
        "c",
    )

    assert log == ["A filters a,b,c", "B filters b,c", "C filters b"]


def test_nodes_that_pre_filter_left_out_are_reported_in_its_words() -> None:
    narrowing = pre_filtering("Names", PreFilterResult(frozenset({"b"})))

    found = find(Stage(narrowing, filtering("A", {"b": FULL})), "a", "b", "c")

    assert found.status is not None
    assert found.status.message == ("0/3 nodes are available: 1 full, 2 node(s) didn't satisfy plugin(s) [Names].")
    assert found.diagnosis is not None
    assert found.diagnosis.unschedulable_plugins == {"A", "Names"}


def test_an_error_about_a_node_ends_the_attempt() -> None:
    found = find(Stage(filtering("A", {"b": Status.failure("boom")})), "a", "b")

    assert found.status == Status.failure('running "A" filter plugin: boom').by("A")
    assert len(found.rows) == 0


def test_an_error_on_an_already_rejected_node_is_ignored() -> None:
    keeping = filtering("B", {"a": Status.failure("boom")}, depends_on=DependsOn.NODE)

    found = find(Stage(filtering("A", {"a": FULL}, depends_on=DependsOn.NODE), keeping, scoring("S", {})), "a", "b")

    assert found.status is None
    assert found.rows.tolist() == [1]


def test_a_plugin_that_raises_is_an_error_of_the_attempt_that_names_it() -> None:
    stage = Stage(broken(filtering("A", {}), "filter", ValueError("no such thing")))
    stage.put_node(make_node("a"))
    stage.put_pod(make_pod("web"))

    assert stage.step()

    assert stage.conditions["default/web"] == ("SchedulerError", 'running "A" filter plugin: no such thing', "")
    assert stage.place("default/web") == "error backoff"


def test_verdicts_about_a_node_alone_are_asked_for_once_and_then_for_nodes_that_changed() -> None:
    log: Log = []
    stage = Stage(filtering("A", {}, log, depends_on=DependsOn.NODE))
    names = [f"n{number}" for number in range(6)]
    find(stage, *names)
    log.clear()

    find(stage)
    find(stage, "n3")
    find(stage, "n2")
    stage.put_node(make_node("n2", cpu="8"))
    find(stage)

    assert log == ["A filters n2"]


def test_verdicts_about_a_node_and_its_pods_are_asked_for_again_when_a_pod_comes() -> None:
    log: Log = []
    stage = Stage(
        filtering("A", {}, log, depends_on=DependsOn.PODS_ON_NODE), filtering("B", {}, log, depends_on=DependsOn.NODE)
    )
    find(stage, *(f"n{number}" for number in range(6)))
    log.clear()

    stage.put_pod(make_pod("there").node("n4"))
    find(stage)

    assert log == ["A filters n4"]


def test_a_plugin_that_says_nothing_about_what_it_depends_on_is_always_asked() -> None:
    log: Log = []
    stage = Stage(filtering("A", {}, log))

    find(stage, "a", "b")
    find(stage)

    assert log == ["A filters a,b", "A filters a,b"]


def test_a_cluster_without_nodes_is_a_rejection_without_a_diagnosis() -> None:
    found = find(Stage(filtering("A", {})))

    assert found.status == Status.unresolvable("no nodes available to schedule pods")
    assert found.diagnosis is None
