"""The snapshot's rows: who gets one, how long it stays, and what is recorded of it."""

import pytest

from muster.framework.model.quantity import QuantityError
from muster.framework.snapshot.snapshot import Snapshot
from tests.builders import make_node, make_pod
from tests.cache.objects import content_of, node, pod

FIRST_CAPACITY = len(Snapshot().live)


@pytest.fixture
def snapshot() -> Snapshot:
    return Snapshot()


def test_a_node_is_live_in_its_row(snapshot: Snapshot) -> None:
    snapshot.set_node(node("a"))
    snapshot.set_node(node("b"))
    assert snapshot.node_count == 2
    assert [snapshot.names[row] for row in snapshot.live_rows().tolist()] == ["a", "b"]
    assert snapshot.live_row_of("a") == snapshot.row_of("a") == 0
    assert snapshot.row_of("c") is None


def test_all_that_scheduling_reads_of_a_node_is_in_its_columns(snapshot: Snapshot) -> None:
    plain = make_node("a", cpu="2").zone("z").taint("spot").unschedulable().image("web:1", size=10)
    snapshot.set_node(node(plain))
    zone = snapshot.labels.column("topology.kubernetes.io/zone")
    assert snapshot.unschedulable[0]
    assert zone.values[zone.ids[0]] == "z"
    assert [taint.key for taint in snapshot.taints.sets[snapshot.taints.ids[0]]] == ["spot"]
    assert snapshot.images.holders("web:1") == {0}
    assert snapshot.resources.amount(snapshot.resources.allocatable, "cpu", 0) == 2000
    assert snapshot.resources.allowed_pods[0] == 110


def test_a_node_set_again_replaces_what_was_known(snapshot: Snapshot) -> None:
    snapshot.set_node(node(make_node("a", cpu="2").taint("spot").unschedulable().image("web:1", size=10)))
    snapshot.set_node(node(make_node("a", cpu="8")))
    fresh = Snapshot()
    fresh.set_node(node(make_node("a", cpu="8")))
    assert content_of(snapshot) == content_of(fresh)


def test_a_node_with_an_amount_that_is_no_quantity_changes_nothing(snapshot: Snapshot) -> None:
    snapshot.set_node(node("a"))
    before = content_of(snapshot)
    for name in ("a", "b"):
        with pytest.raises(QuantityError, match="got 'lots'"):
            snapshot.set_node(node(make_node(name, memory="lots").taint("spot")))
    assert content_of(snapshot) == before


def test_a_pod_may_come_before_its_node(snapshot: Snapshot) -> None:
    snapshot.add_pod(pod("p"), "a")
    assert snapshot.node_count == 0
    assert snapshot.live_row_of("a") is None
    assert snapshot.live_rows().tolist() == []
    snapshot.set_node(node("a"))
    assert snapshot.live_row_of("a") == snapshot.row_of("a")
    assert snapshot.resources.pod_count[snapshot.row_of("a")] == 1


def test_a_node_may_leave_before_its_pods_and_come_back(snapshot: Snapshot) -> None:
    snapshot.set_node(node("a"))
    snapshot.add_pod(pod("p"), "a")
    before = content_of(snapshot)
    snapshot.remove_node("a")
    assert snapshot.node_count == 0
    assert snapshot.row_of("a") == 0
    assert snapshot.resources.pod_count[0] == 1
    assert snapshot.resources.allocatable[:, 0].tolist() == [0, 0, 0]
    snapshot.set_node(node("a"))
    assert content_of(snapshot) == before


def test_a_row_is_reused_once_neither_node_nor_pods_are_left(snapshot: Snapshot) -> None:
    snapshot.set_node(node(make_node("a").zone("z").taint("spot").unschedulable().image("web:1", size=10)))
    snapshot.add_pod(pod(make_pod("p").host_port(80).requests(cpu="1")), "a")
    snapshot.remove_node("a")
    snapshot.remove_pod(pod("p"), "a")
    assert snapshot.row_of("a") is None
    snapshot.set_node(node("b"))
    fresh = Snapshot()
    fresh.set_node(node("b"))
    assert content_of(snapshot) == content_of(fresh)
    assert snapshot.height == 1


def test_removing_a_node_that_is_not_known_changes_nothing(snapshot: Snapshot) -> None:
    snapshot.add_pod(pod("p"), "ghost")
    before = content_of(snapshot)
    snapshot.remove_node("ghost")
    snapshot.remove_node("stranger")
    assert content_of(snapshot) == before


def test_the_last_pod_of_a_ghost_takes_its_row_along(snapshot: Snapshot) -> None:
    snapshot.add_pod(pod("p"), "ghost")
    snapshot.remove_pod(pod("p"), "ghost")
    assert content_of(snapshot) == content_of(Snapshot())


def test_rows_grow_past_the_first_capacity_and_keep_everything(snapshot: Snapshot) -> None:
    fresh = Snapshot()
    snapshot.labels.column("kubernetes.io/hostname")
    names = [f"n{index}" for index in range(3 * FIRST_CAPACITY)]
    for name in names:
        snapshot.set_node(node(make_node(name).taint("spot", name[-1])))
        snapshot.add_pod(pod(f"on-{name}"), name)
        fresh.set_node(node(make_node(name).taint("spot", name[-1])))
    for name in names:
        fresh.add_pod(snapshot.pods[snapshot.row_of(name) or 0][f"pod-default-on-{name}"], name)
    fresh.labels.column("kubernetes.io/hostname")
    assert snapshot.height == len(names)
    assert content_of(snapshot) == content_of(fresh)


def test_a_pod_is_not_counted_twice_on_a_node(snapshot: Snapshot) -> None:
    snapshot.add_pod(pod("p"), "a")
    before = content_of(snapshot)
    with pytest.raises(ValueError, match="pod default/p is already counted on node a"):
        snapshot.add_pod(pod("p"), "a")
    assert content_of(snapshot)["pods"].keys() == before["pods"].keys()
    assert snapshot.resources.pod_count[0] == 1


def test_a_pod_that_is_not_counted_cannot_be_removed(snapshot: Snapshot) -> None:
    snapshot.set_node(node("a"))
    with pytest.raises(KeyError):
        snapshot.remove_pod(pod("p"), "a")
    with pytest.raises(KeyError):
        snapshot.remove_pod(pod("p"), "stranger")


def test_a_pod_is_given_back_as_it_was_counted_even_if_it_has_changed_since(snapshot: Snapshot) -> None:
    snapshot.set_node(node("a"))
    before = content_of(snapshot)
    snapshot.add_pod(pod(make_pod("p").requests(cpu="1").host_port(80)), "a")
    snapshot.remove_pod(pod(make_pod("p").requests(cpu="3")), "a")
    assert content_of(snapshot) == before


def test_changes_of_pods_are_recorded_as_usage_alone(snapshot: Snapshot) -> None:
    snapshot.set_node(node("a"))
    nodes, usage = snapshot.node_journal.position, snapshot.usage_journal.position
    snapshot.add_pod(pod("p"), "a")
    assert snapshot.node_journal.since(nodes) == set()
    assert snapshot.usage_journal.since(usage) == {0}
    usage = snapshot.usage_journal.position
    snapshot.remove_pod(pod("p"), "a")
    assert snapshot.usage_journal.since(usage) == {0}


def test_changes_of_nodes_are_recorded_as_both(snapshot: Snapshot) -> None:
    snapshot.set_node(node("a"))
    nodes, usage = snapshot.node_journal.position, snapshot.usage_journal.position
    snapshot.remove_node("a")
    assert snapshot.node_journal.since(nodes) == {0}
    assert snapshot.usage_journal.since(usage) == {0}


def test_the_layout_changes_with_nodes_and_rows_but_not_with_pods_on_known_nodes(snapshot: Snapshot) -> None:
    layouts = [snapshot.layout]
    snapshot.set_node(node("a"))
    layouts.append(snapshot.layout)
    snapshot.add_pod(pod("p"), "ghost")
    layouts.append(snapshot.layout)
    snapshot.remove_node("a")
    layouts.append(snapshot.layout)
    assert len(set(layouts)) == len(layouts)
    snapshot.add_pod(pod("q"), "ghost")
    snapshot.remove_pod(pod("p"), "ghost")
    assert snapshot.layout == layouts[-1]


def test_a_refreshed_pod_takes_the_place_of_the_old_one_and_no_count_changes(snapshot: Snapshot) -> None:
    snapshot.add_pod(pod("p"), "a")
    before = content_of(snapshot)
    usage = snapshot.usage_journal.position
    refreshed = pod("p")
    snapshot.refresh_pod(refreshed, "a")
    assert snapshot.pods[0] == {refreshed.uid: refreshed}
    assert content_of(snapshot) | {"pods": None} == before | {"pods": None}
    assert snapshot.usage_journal.since(usage) == set()


@pytest.mark.parametrize("change", ["labels", "annotations", "deletionTimestamp"])
def test_a_refreshed_pod_with_other_metadata_counts_as_a_change_of_usage(snapshot: Snapshot, change: str) -> None:
    snapshot.add_pod(pod("p"), "a")
    usage = snapshot.usage_journal.position
    plain = make_pod("p").requests(cpu="100m", memory="1Mi")
    plain["metadata"][change] = "2026-01-01T00:00:00Z" if change == "deletionTimestamp" else {"app": "web"}
    snapshot.refresh_pod(pod(plain), "a")
    assert snapshot.usage_journal.since(usage) == {0}


def test_a_refreshed_node_takes_the_place_of_the_old_one_and_nothing_is_recorded(snapshot: Snapshot) -> None:
    snapshot.set_node(node("a"))
    nodes, usage = snapshot.node_journal.position, snapshot.usage_journal.position
    refreshed = node("a")
    snapshot.refresh_node(refreshed)
    assert snapshot.nodes[0] is refreshed
    assert snapshot.node_journal.since(nodes) == snapshot.usage_journal.since(usage) == set()


def test_nodes_and_pods_that_are_not_known_cannot_be_refreshed(snapshot: Snapshot) -> None:
    with pytest.raises(KeyError):
        snapshot.refresh_node(node("a"))
    snapshot.set_node(node("a"))
    with pytest.raises(KeyError):
        snapshot.refresh_pod(pod("p"), "a")
