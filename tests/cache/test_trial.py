"""Trials: whatever is tried on the snapshot is as if it had never been."""

import pytest

from muster.framework.snapshot.snapshot import Snapshot
from tests.builders import make_pod
from tests.cache.objects import content_of, node, pod

WEB = pod(make_pod("web").requests({"cpu": "1", "example.com/gpu": "2"}).host_port(80))
DB = pod(make_pod("db").requests(memory="1Gi"))
LOG = pod("log")


@pytest.fixture
def snapshot() -> Snapshot:
    """Two nodes; `db` runs on the first, `log` on one that is not known."""
    snapshot = Snapshot()
    for name in ("a", "b"):
        snapshot.set_node(node(name))
    snapshot.add_pod(DB, "a")
    snapshot.add_pod(LOG, "ghost")
    return snapshot


def test_added_pods_are_counted_inside_and_gone_afterwards(snapshot: Snapshot) -> None:
    before = content_of(snapshot)
    with snapshot.trial():
        snapshot.add_pod(WEB, "a")
        assert snapshot.resources.amount(snapshot.resources.requested, "cpu", 0) == 1000
        assert snapshot.ports.claims()
    assert content_of(snapshot) == before


def test_removed_pods_are_gone_inside_and_counted_afterwards(snapshot: Snapshot) -> None:
    before = content_of(snapshot)
    with snapshot.trial():
        snapshot.remove_pod(DB, "a")
        assert snapshot.resources.pod_count[0] == 0
    assert content_of(snapshot) == before


def test_a_pod_can_be_moved_around_inside(snapshot: Snapshot) -> None:
    before = content_of(snapshot)
    with snapshot.trial():
        snapshot.remove_pod(DB, "a")
        snapshot.add_pod(DB, "b")
        snapshot.add_pod(WEB, "a")
        snapshot.remove_pod(DB, "b")
        snapshot.remove_pod(WEB, "a")
        snapshot.add_pod(WEB, "b")
    assert content_of(snapshot) == before


def test_pods_are_in_their_order_afterwards(snapshot: Snapshot) -> None:
    first, second, third = (pod(name) for name in ("first", "second", "third"))
    for each in (first, second, third):
        snapshot.add_pod(each, "b")
    with snapshot.trial():
        snapshot.remove_pod(second, "b")
        with snapshot.trial():
            snapshot.remove_pod(first, "b")
            snapshot.add_pod(WEB, "b")
        snapshot.remove_pod(third, "b")
    assert [*snapshot.pods[1].values()] == [first, second, third]


def test_rows_taken_and_given_back_inside_are_as_before(snapshot: Snapshot) -> None:
    before = content_of(snapshot)
    with snapshot.trial():
        snapshot.remove_pod(LOG, "ghost")
        assert snapshot.row_of("ghost") is None
        snapshot.add_pod(WEB, "stranger")
        assert snapshot.row_of("stranger") == 2
        snapshot.add_pod(LOG, "another")
    assert content_of(snapshot) == before


def test_pods_on_nodes_that_are_not_live_are_on_their_rows_afterwards(snapshot: Snapshot) -> None:
    other = pod(make_pod("other").host_port(80))
    snapshot.add_pod(other, "phantom")
    before = content_of(snapshot)
    with snapshot.trial():
        snapshot.remove_pod(LOG, "ghost")
        snapshot.remove_pod(other, "phantom")
        snapshot.add_pod(LOG, "ghost")
    assert content_of(snapshot) == before
    with snapshot.trial():
        snapshot.remove_pod(other, "phantom")
        snapshot.add_pod(WEB, "stranger")
    assert content_of(snapshot) == before
    snapshot.remove_pod(other, "phantom")


def test_a_port_that_two_pods_claim_is_free_inside_when_one_gave_it_back(snapshot: Snapshot) -> None:
    twin = pod(make_pod("twin").host_port(80))
    snapshot.add_pod(WEB, "a")
    snapshot.add_pod(twin, "a")
    before = content_of(snapshot)
    [port] = WEB.signature.host_ports
    with snapshot.trial():
        snapshot.remove_pod(WEB, "a")
        assert snapshot.ports.conflicting_rows(port) == []  # NodeInfo.UsedPorts is a set
        with snapshot.trial():
            snapshot.add_pod(WEB, "a")
            assert snapshot.ports.conflicting_rows(port) == [0]
        assert snapshot.ports.conflicting_rows(port) == []
        snapshot.remove_pod(twin, "a")
        snapshot.add_pod(WEB, "a")
    assert content_of(snapshot) == before


def test_a_pod_that_claims_a_port_twice_gives_it_back(snapshot: Snapshot) -> None:
    before = content_of(snapshot)
    with snapshot.trial():
        snapshot.add_pod(pod(make_pod("twice").host_port(80).host_port(80)), "b")
    assert content_of(snapshot) == before


def test_trials_nest(snapshot: Snapshot) -> None:
    outermost = content_of(snapshot)
    with snapshot.trial():
        snapshot.add_pod(WEB, "a")
        outer = content_of(snapshot)
        with snapshot.trial():
            snapshot.remove_pod(WEB, "a")
            snapshot.add_pod(WEB, "b")
            with snapshot.trial():
                snapshot.remove_pod(DB, "a")
        assert content_of(snapshot) == outer
        snapshot.remove_pod(DB, "a")
    assert content_of(snapshot) == outermost


def test_a_trial_may_follow_a_trial_inside_another(snapshot: Snapshot) -> None:
    before = content_of(snapshot)
    with snapshot.trial():
        for name in ("a", "b"):
            with snapshot.trial():
                snapshot.add_pod(WEB, name)
        snapshot.add_pod(WEB, "b")
    assert content_of(snapshot) == before


def test_an_exception_inside_leaves_nothing_behind(snapshot: Snapshot) -> None:
    def fail() -> None:
        with snapshot.trial():
            snapshot.add_pod(WEB, "a")
            with snapshot.trial():
                snapshot.remove_pod(DB, "a")
                raise ZeroDivisionError

    before = content_of(snapshot)
    with pytest.raises(ZeroDivisionError):
        fail()
    assert content_of(snapshot) == before


def test_a_pod_that_could_not_be_added_inside_is_not_taken_away(snapshot: Snapshot) -> None:
    before = content_of(snapshot)
    with pytest.raises(ValueError, match="already counted"), snapshot.trial():
        snapshot.add_pod(DB, "a")
    assert content_of(snapshot) == before


def test_changes_after_a_trial_stay(snapshot: Snapshot) -> None:
    with snapshot.trial():
        snapshot.add_pod(WEB, "a")
    snapshot.add_pod(WEB, "b")
    assert snapshot.pods[1] == {WEB.uid: WEB}


def test_rows_touched_in_a_trial_are_recorded_so_that_nothing_kept_inside_survives_it(snapshot: Snapshot) -> None:
    with snapshot.trial():
        snapshot.add_pod(WEB, "a")
        inside = snapshot.usage_journal.position
    assert snapshot.usage_journal.since(inside) == {0}


def test_a_pod_that_was_only_taken_off_and_put_back_is_not_counted_anew_at_the_end(snapshot: Snapshot) -> None:
    with snapshot.trial():
        snapshot.remove_pod(DB, "a")
        snapshot.add_pod(DB, "a")
        inside = snapshot.usage_journal.position
    assert snapshot.usage_journal.position == inside


def test_a_row_whose_ports_are_put_back_is_recorded(snapshot: Snapshot) -> None:
    snapshot.add_pod(WEB, "a")
    twin = pod(make_pod("twin").host_port(80))
    with snapshot.trial():
        snapshot.add_pod(twin, "a")
        snapshot.remove_pod(twin, "a")
        inside = snapshot.usage_journal.position
    assert snapshot.ports.conflicting_rows(WEB.signature.host_ports[0]) == [0]
    assert snapshot.usage_journal.since(inside) == {0}
