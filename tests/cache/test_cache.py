"""The cache: how reports and decisions end up in the snapshot."""

import logging

import msgspec
import pytest

from muster.framework.cache.cache import Cache
from muster.framework.cache.pod_states import IllegalTransition
from muster.framework.cache.recount import differences
from muster.framework.contract.events import Action
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.quantity import QuantityError
from muster.framework.snapshot.snapshot import Snapshot
from tests.builders import make_node, make_pod
from tests.cache.objects import bound, content_of, node, pod
from tests.clocks import ManualClock

TTL = 30.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def cache(clock: ManualClock) -> Cache:
    """Nodes `a` and `b`; assumed pods live for TTL seconds after their binding."""
    cache = Cache(Snapshot(), clock, TTL)
    for name in ("a", "b"):
        cache.set_node(node(name))
    return cache


@pytest.fixture
def web() -> PodInfo:
    """A pod that waits to be scheduled."""
    return pod(make_pod("web").labels(app="web").requests(cpu="1").host_port(80))


def counted(cache: Cache) -> dict[str, set[str]]:
    """UIDs of the pods counted on each node that has any."""
    return {name: set(pods) for name, pods in content_of(cache.snapshot)["pods"].items()}


def test_a_new_node_is_an_addition(cache: Cache) -> None:
    assert cache.set_node(node("c")) == Action.ADD
    assert cache.node_count == 3


def test_a_known_nodes_change_is_returned_by_its_parts(cache: Cache) -> None:
    assert cache.set_node(node(make_node("a").zone("z").taint("spot"))) == (
        Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
    )
    assert differences(cache) == []


def test_cordoning_a_node_helps_no_pod_but_reaches_the_snapshot(cache: Cache) -> None:
    assert cache.set_node(node(make_node("a").unschedulable())) == Action(0)
    assert cache.snapshot.unschedulable.nonzero()[0].tolist() == [0]


def test_a_heartbeat_leaves_the_journals_alone_and_keeps_the_latest_object(cache: Cache) -> None:
    snapshot = cache.snapshot
    nodes, usage, layout = snapshot.node_journal.position, snapshot.usage_journal.position, snapshot.layout
    plain = make_node("a")
    plain["metadata"]["resourceVersion"] = "77"
    latest = node(plain)
    assert cache.set_node(latest) == Action(0)
    assert (snapshot.node_journal.position, snapshot.usage_journal.position, snapshot.layout) == (nodes, usage, layout)
    assert snapshot.nodes[0] is latest


def test_a_node_that_cannot_be_read_leaves_everything_as_it_was(cache: Cache) -> None:
    before = content_of(cache.snapshot)
    for name in ("a", "new"):
        with pytest.raises(QuantityError):
            cache.set_node(node(make_node(name, cpu="many").taint("spot")))
    assert content_of(cache.snapshot) == before


def test_a_node_that_comes_back_is_an_addition_and_still_has_its_pods(cache: Cache, web: PodInfo) -> None:
    cache.add_pod(bound(web, "a"))
    cache.remove_node("a")
    assert cache.node_count == 1
    assert counted(cache) == {"a": {web.uid}}
    assert cache.set_node(node("a")) == Action.ADD
    assert counted(cache) == {"a": {web.uid}}
    assert differences(cache) == []


def test_an_assumed_pod_counts_on_its_node_at_once(cache: Cache, web: PodInfo) -> None:
    cache.assume(web, "a")
    assert cache.is_assumed(web.uid)
    assert cache.node_of(web.uid) == "a"
    assert cache.get(web.uid) is web
    assert cache.snapshot.resources.amount(cache.snapshot.resources.requested, "cpu", 0) == 1000
    assert (cache.pod_count, cache.assumed_count) == (1, 1)


@pytest.mark.parametrize("state", ["assumed", "bound"])
def test_a_pod_is_not_assumed_twice(cache: Cache, web: PodInfo, state: str) -> None:
    if state == "assumed":
        cache.assume(web, "a")
    else:
        cache.add_pod(bound(web, "a"))
    with pytest.raises(IllegalTransition, match=rf"^cannot assume pod default/web .*: it is {state} in the cache$"):
        cache.assume(web, "b")
    assert counted(cache) == {"a": {web.uid}}


def test_a_forgotten_pod_leaves_no_trace(cache: Cache, web: PodInfo) -> None:
    before = content_of(cache.snapshot)
    cache.assume(web, "a")
    assert cache.forget(web)
    assert content_of(cache.snapshot) == before
    assert (cache.pod_count, cache.assumed_count) == (0, 0)
    assert cache.node_of(web.uid) is None
    assert cache.get(web.uid) is None


def test_a_pod_that_is_bound_after_all_is_not_forgotten(
    cache: Cache, web: PodInfo, caplog: pytest.LogCaptureFixture
) -> None:
    cache.assume(web, "a")
    cache.add_pod(bound(web, "a"))
    with caplog.at_level(logging.WARNING):
        assert not cache.forget(web)
    assert counted(cache) == {"a": {web.uid}}
    assert caplog.messages == ["pod default/web is bound to a after all and stays counted"]


def test_a_pod_that_is_gone_can_be_forgotten_and_finished_in_vain(cache: Cache, web: PodInfo) -> None:
    cache.assume(web, "a")
    cache.remove_pod(web)
    cache.finish_binding(web)
    assert not cache.forget(web)
    assert counted(cache) == {}


def test_the_informer_confirms_an_assumed_pod(cache: Cache, web: PodInfo) -> None:
    cache.assume(web, "a")
    confirmed = bound(web, "a")
    usage = cache.snapshot.usage_journal.position
    cache.add_pod(confirmed)
    assert not cache.is_assumed(web.uid)
    assert cache.get(web.uid) is confirmed
    assert cache.snapshot.pods[0][web.uid] is confirmed
    assert cache.snapshot.usage_journal.since(usage) == set()
    assert (cache.pod_count, cache.assumed_count) == (1, 0)


def test_a_pod_confirmed_elsewhere_is_moved_with_a_warning(
    cache: Cache, web: PodInfo, caplog: pytest.LogCaptureFixture
) -> None:
    cache.assume(web, "a")
    with caplog.at_level(logging.WARNING):
        cache.add_pod(bound(web, "b"))
    assert counted(cache) == {"b": {web.uid}}
    assert cache.node_of(web.uid) == "b"
    assert not cache.is_assumed(web.uid)
    assert caplog.messages == ["pod default/web was counted on node a but is bound to b"]
    assert differences(cache) == []


def test_a_pod_confirmed_with_another_shape_is_counted_anew(cache: Cache, web: PodInfo) -> None:
    cache.assume(web, "a")
    cache.add_pod(bound(pod(make_pod("web").requests(cpu="3")), "a"))
    assert cache.snapshot.resources.amount(cache.snapshot.resources.requested, "cpu", 0) == 3000
    assert differences(cache) == []


def test_a_pod_bound_by_another_scheduler_is_counted(cache: Cache, web: PodInfo) -> None:
    cache.add_pod(bound(web, "b"))
    assert counted(cache) == {"b": {web.uid}}
    assert not cache.is_assumed(web.uid)


def test_a_pod_on_a_node_that_is_not_known_is_counted_until_it_leaves(cache: Cache, web: PodInfo) -> None:
    before = content_of(cache.snapshot)
    cache.add_pod(bound(web, "elsewhere"))
    assert counted(cache) == {"elsewhere": {web.uid}}
    assert cache.node_count == 2
    assert differences(cache) == []
    assert not cache.remove_pod(bound(web, "elsewhere"))
    assert content_of(cache.snapshot) == before


def test_a_pod_is_not_added_twice(cache: Cache, web: PodInfo) -> None:
    cache.add_pod(bound(web, "a"))
    with pytest.raises(IllegalTransition, match="cannot confirm pod default/web"):
        cache.add_pod(bound(web, "a"))
    assert counted(cache) == {"a": {web.uid}}


def test_a_pod_without_a_node_does_not_belong_in_the_cache(cache: Cache, web: PodInfo) -> None:
    for report in (cache.add_pod, cache.update_pod):
        with pytest.raises(ValueError, match="pod default/web has no node"):
            report(web)
    assert counted(cache) == {}


def test_an_update_of_the_status_alone_costs_no_recount(cache: Cache, web: PodInfo) -> None:
    cache.add_pod(bound(web, "a"))
    usage = cache.snapshot.usage_journal.position
    status = msgspec.structs.replace(web.pod.status, phase="Running")
    latest = PodInfo(msgspec.structs.replace(bound(web, "a").pod, status=status))
    cache.update_pod(latest)
    assert cache.get(web.uid) is latest
    assert cache.snapshot.pods[0][web.uid] is latest
    assert cache.snapshot.usage_journal.since(usage) == set()


def test_an_update_of_labels_reaches_the_snapshot(cache: Cache, web: PodInfo) -> None:
    cache.add_pod(bound(web, "a"))
    usage = cache.snapshot.usage_journal.position
    cache.update_pod(pod(make_pod("web").labels(app="db").requests(cpu="1").host_port(80).node("a")))
    assert cache.snapshot.pods[0][web.uid].labels == {"app": "db"}
    assert cache.snapshot.usage_journal.since(usage) == {0}
    assert differences(cache) == []


def test_an_update_of_requests_is_counted(cache: Cache, web: PodInfo) -> None:
    cache.add_pod(bound(web, "a"))
    cache.update_pod(pod(make_pod("web").requests(cpu="2").node("a")))
    assert cache.snapshot.resources.amount(cache.snapshot.resources.requested, "cpu", 0) == 2000
    assert not cache.snapshot.ports.claims()
    assert differences(cache) == []


@pytest.mark.parametrize("assumed", [True, False])
def test_an_update_of_a_pod_whose_addition_failed_puts_things_right(cache: Cache, web: PodInfo, assumed: bool) -> None:
    if assumed:
        cache.assume(web, "a")
    cache.update_pod(bound(web, "a"))
    assert counted(cache) == {"a": {web.uid}}
    assert not cache.is_assumed(web.uid)
    assert not cache.forget(web)


def test_a_bound_pod_that_turns_up_elsewhere_is_moved_with_a_warning(
    cache: Cache, web: PodInfo, caplog: pytest.LogCaptureFixture
) -> None:
    cache.add_pod(bound(web, "a"))
    with caplog.at_level(logging.WARNING):
        cache.update_pod(bound(web, "b"))
    assert counted(cache) == {"b": {web.uid}}
    assert caplog.messages == ["pod default/web was counted on node a but is bound to b"]


def test_removing_a_pod_returns_whether_it_was_only_assumed(cache: Cache, web: PodInfo) -> None:
    cache.assume(web, "a")
    assert cache.remove_pod(web)
    cache.add_pod(bound(web, "a"))
    assert not cache.remove_pod(bound(web, "a"))
    assert not cache.remove_pod(bound(web, "a"))
    assert counted(cache) == {}


def test_a_pod_is_removed_from_where_it_is_counted_whatever_the_report_says(cache: Cache, web: PodInfo) -> None:
    cache.add_pod(bound(web, "a"))
    cache.remove_pod(web)
    assert counted(cache) == {}


def test_a_pod_made_anew_under_the_same_name_is_another_pod(cache: Cache, web: PodInfo) -> None:
    plain = make_pod("web").requests(cpu="1")
    plain["metadata"]["uid"] = "another"
    cache.add_pod(bound(web, "a"))
    cache.add_pod(bound(pod(plain), "a"))
    cache.remove_pod(bound(web, "a"))
    assert counted(cache) == {"a": {"another"}}


def test_an_assumed_pod_expires_once_its_binding_is_finished_and_no_report_came(
    cache: Cache, web: PodInfo, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    cache.assume(web, "a")
    assert cache.expire(clock.time + 10 * TTL) == []
    cache.finish_binding(web)
    clock.time += TTL - 1
    assert cache.expire(clock.time) == []
    clock.time += 1
    with caplog.at_level(logging.WARNING):
        assert cache.expire(clock.time) == [web]
    assert counted(cache) == {}
    assert caplog.messages == ["pod default/web was bound to a but never reported there, and is no longer counted"]


def test_a_report_that_comes_after_all_counts_the_expired_pod_again(
    cache: Cache, web: PodInfo, clock: ManualClock
) -> None:
    cache.assume(web, "a")
    cache.finish_binding(web)
    cache.expire(clock.time + TTL)
    cache.add_pod(bound(web, "a"))
    assert counted(cache) == {"a": {web.uid}}


def test_a_confirmed_pod_never_expires(cache: Cache, web: PodInfo, clock: ManualClock) -> None:
    cache.assume(web, "a")
    cache.finish_binding(web)
    cache.add_pod(bound(web, "a"))
    cache.finish_binding(web)
    assert cache.expire(clock.time + 10 * TTL) == []
    assert counted(cache) == {"a": {web.uid}}


def test_without_a_time_to_live_an_assumed_pod_never_expires(web: PodInfo, clock: ManualClock) -> None:
    cache = Cache(Snapshot(), clock)
    cache.assume(web, "a")
    cache.finish_binding(web)
    assert cache.expire(clock.time + 10**9) == []
    assert cache.is_assumed(web.uid)


def test_every_counted_pod_is_listed_with_its_node(cache: Cache, web: PodInfo) -> None:
    other = bound(pod("other"), "b")
    cache.assume(web, "a")
    cache.add_pod(other)
    assert sorted(cache.placements(), key=lambda placement: placement[1]) == [(web, "a"), (other, "b")]


def test_a_dump_shows_nodes_ghosts_and_the_state_of_each_pod(cache: Cache, web: PodInfo) -> None:
    cache.assume(web, "a")
    cache.add_pod(bound(pod("other"), "ghost"))
    cache.remove_node("b")
    assert list(cache.dump()) == [
        "node a: pods 1 of 110, cpu 1000 of 4000, memory 0 of 34359738368, ephemeral-storage 0 of 0",
        "  assumed pod default/web (UID pod-default-web)",
        "node ghost (not known itself): pods 1 of 0, cpu 100 of 0, memory 1048576 of 0, ephemeral-storage 0 of 0",
        "  bound pod default/other (UID pod-default-other)",
    ]
