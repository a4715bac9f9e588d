"""Results about nodes with nominated pods hold for the node, the pods and the epoch that they were found with."""

import pytest

from muster.framework.runtime.nominated_cache import NominatedResults
from muster.framework.snapshot.snapshot import Snapshot
from tests.builders import make_node, make_pod
from tests.cache.objects import node, pod

NOMINATED = (pod(make_pod("nominated").requests(cpu="1")),)


@pytest.fixture
def snapshot() -> Snapshot:
    """One node."""
    made = Snapshot()
    made.set_node(node("one"))
    return made


@pytest.fixture
def results(snapshot: Snapshot) -> NominatedResults:
    """What was found of that node in epoch 1."""
    made = NominatedResults()
    made.enter(1)
    made.keep(snapshot, 0, NOMINATED, None)
    return made


def test_a_result_holds_while_nothing_has_changed_even_if_a_trial_came_between(
    snapshot: Snapshot, results: NominatedResults
) -> None:
    with snapshot.trial():
        snapshot.add_pod(pod("tried"), "one")
        assert not results.holds(snapshot, 0, NOMINATED)
    results.enter(1)
    assert results.holds(snapshot, 0, NOMINATED)


def test_a_result_ends_with_its_epoch(snapshot: Snapshot, results: NominatedResults) -> None:
    results.enter(2)
    assert not results.holds(snapshot, 0, NOMINATED)


def test_a_result_is_not_that_of_other_nominated_pods(snapshot: Snapshot, results: NominatedResults) -> None:
    assert not results.holds(snapshot, 0, ())


def test_a_result_ends_when_the_node_changes(snapshot: Snapshot, results: NominatedResults) -> None:
    snapshot.set_node(node(make_node("one", cpu="9")))
    assert not results.holds(snapshot, 0, NOMINATED)
