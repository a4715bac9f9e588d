"""Batches: of pods of one signature that no node could take, one is tried for all."""

from muster.framework.contract.events import ASSIGNED_POD_DELETE, NODE_ADD, EventRegistration, Hint
from muster.framework.model.pod_info import PodInfo
from muster.framework.queue.policy import BackoffPolicy
from muster.framework.queue.transitions import Place
from tests.builders import make_pod
from tests.queue.harness import ERROR, Harness, no_node, pod

FIT: dict[str, list[EventRegistration]] = {
    "Fit": [EventRegistration(NODE_ADD)],
    "Taint": [EventRegistration(ASSIGNED_POD_DELETE)],
}


def backlog(*names: str, harness: Harness | None = None) -> Harness:
    """Pods of one signature that Fit refused; none backs off."""
    harness = harness or Harness(FIT)
    harness.wait(no_node("Fit"), *names)
    harness.clock.time += 20
    return harness


def test_an_event_releases_one_pod_of_a_batch_and_the_next_after_it_is_placed() -> None:
    harness = backlog("a", "b", "c")
    harness.queue.move_all(NODE_ADD, None, None)
    entity = harness.pop()
    assert [pod.info.name for pod in entity.pods.values()] == ["a"]
    assert harness.queue.pop() is None

    harness.queue.found_node(pod("a").uid)
    assert harness.pop_names() == ["b"]


def test_when_the_first_is_refused_again_the_others_stay_and_it_keeps_its_place() -> None:
    harness = backlog("a", "b", "c")
    for _ in range(3):
        harness.clock.time += 20
        harness.queue.move_all(NODE_ADD, None, None)
        entity = harness.pop()
        assert [pod.info.name for pod in entity.pods.values()] == ["a"]
        harness.fail(entity, no_node("Fit"))
        assert harness.queue.pop() is None

    assert harness.queue.contents.counts()["unschedulable"] == 3
    assert {line.place for line in harness.queue.contents.dump()} == {"unschedulable"}


def test_a_pod_that_backs_off_does_not_block_its_batch() -> None:
    harness = backlog("a", "b")
    harness.queue.move_all(NODE_ADD, None, None)
    harness.fail(harness.pop(), no_node("Fit"))
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.pop_names() == ["b"]


def test_an_event_releases_no_pod_while_another_of_the_batch_is_ready() -> None:
    harness = backlog("a", "b")
    harness.queue.move_all(NODE_ADD, None, None)
    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.drain() == [["a"]]


def test_batches_are_woken_in_the_order_of_their_firsts_among_all_that_is_ready() -> None:
    harness = Harness(FIT)
    infos = [pod(make_pod(name).requests(cpu=cpu)) for name, cpu in zip("abcd", "1221", strict=True)]
    for info in infos:
        harness.queue.add(info)
        harness.clock.time += 0.001
    for entity in [harness.pop() for _ in infos]:
        harness.fail(entity, no_node("Fit"))
    harness.clock.time += 20
    harness.add("newer")
    harness.add("important", priority=1)
    harness.queue.move_all(NODE_ADD, None, None)
    harness.queue.remove(pod("a"))

    assert harness.drain() == [["important"], ["b"], ["d"], ["newer"]]


def test_a_woken_batch_without_capacity_calls_no_plugin_and_moves_no_pod() -> None:
    harness = backlog("a", "b")
    harness.has_room = False
    asked, entered = [*harness.asked], harness.metrics.pods.copy()
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.queue.pop() is None

    assert (harness.asked, harness.metrics.pods) == (asked, entered)


def test_a_pod_without_capacity_waits_for_the_next_event_or_timeout() -> None:
    harness = backlog("a", "b")
    harness.has_room = False
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.queue.pop() is None
    assert harness.queue.contents.counts()["unschedulable"] == 2
    assert harness.metrics.held["Fit"] == 2

    harness.at(300.0)
    entity = harness.pop()
    assert [pod.info.name for pod in entity.pods.values()] == ["a"]
    harness.fail(entity, no_node("Fit"))

    harness.has_room = True
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.pop_names() == ["b"]


def test_the_next_is_tried_when_the_first_ends_in_any_other_way() -> None:
    for end in ("error", "deleted", "deleted in flight", "done", "changed"):
        harness = backlog("a", "b")
        harness.queue.move_all(NODE_ADD, None, None)
        if end == "deleted":
            harness.queue.remove(pod("a"))
        elif end == "changed":
            harness.queue.update(pod("a"), pod(make_pod("a").requests(cpu="1")))
            harness.fail(harness.pop(), no_node("Fit"))
        else:
            entity = harness.pop()
            if end == "error":
                harness.fail(entity, ERROR)
            elif end == "deleted in flight":
                harness.queue.remove(pod("a"))
            else:
                harness.queue.done(pod("a").uid)

        assert harness.pop_names() == ["b"], end


def test_the_next_pod_of_a_batch_is_tried_when_the_first_is_gated() -> None:
    harness = backlog("a", "b")
    harness.closed["Gate"] = {"a"}
    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.drain() == [["b"]]
    assert harness.place(pod("a")) is Place.GATED


def test_the_last_rejection_sets_the_rejectors_of_the_whole_batch() -> None:
    harness = backlog("a", "b", "c")
    harness.queue.move_all(NODE_ADD, None, None)
    harness.fail(harness.pop(), no_node("Taint"))
    harness.clock.time += 20
    assert harness.metrics.held == {"Fit": 0, "Taint": 3}

    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.queue.pop() is None
    harness.queue.move_all(ASSIGNED_POD_DELETE, None, None)
    assert harness.pop_names() == ["a"]


def test_a_hint_is_asked_once_for_a_signature_and_event() -> None:
    asked: list[str] = []

    def skip(info: PodInfo, old: object, new: object) -> Hint:
        asked.append(info.name)
        return Hint.SKIP

    harness = backlog("a", "b", "c", harness=Harness({"Fit": [EventRegistration(NODE_ADD, skip, by_signature=True)]}))
    harness.queue.move_all(NODE_ADD, None, None)

    assert asked == ["a"]


def test_pods_that_other_plugins_refused_too_wait_by_themselves() -> None:
    harness = Harness({**FIT, "Affinity": [EventRegistration(NODE_ADD)]})
    harness.wait(no_node("Fit", "Affinity"), "a", "b")
    harness.clock.time += 20
    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.drain() == [["a"], ["b"]]


def labelled(app: str, *names: str) -> list[PodInfo]:
    """Pods of one signature with a label."""
    return [pod(make_pod(name).labels(app=app)) for name in names]


def test_where_labels_count_one_is_tried_for_all_that_have_the_same() -> None:
    harness = Harness({**FIT, "Labels": [EventRegistration(NODE_ADD)]})
    for info in (*labelled("x", "x1", "x2"), *labelled("y", "y1", "y2")):
        harness.queue.add(info)
        harness.clock.time += 0.001
    for entity in [harness.pop() for _ in range(4)]:
        harness.fail(entity, no_node("Fit", "Labels"))
    harness.clock.time += 20
    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.drain() == [["x1"], ["y1"]]


def test_a_pod_with_changed_labels_leaves_its_batch() -> None:
    harness = Harness({**FIT, "Labels": [EventRegistration(NODE_ADD)]})
    first, second = labelled("x", "x1", "x2")
    for info in (first, second):
        harness.queue.add(info)
    for entity in [harness.pop() for _ in range(2)]:
        harness.fail(entity, no_node("Labels"))
    [changed] = labelled("y", "x2")
    harness.queue.update(second, changed)
    harness.clock.time += 20
    harness.queue.move_all(NODE_ADD, None, None)

    assert sorted(harness.drain()) == [["x1"], ["x2"]]


def test_a_pod_whose_spec_changes_waits_by_itself() -> None:
    harness = backlog("a", "b")
    changed = pod(make_pod("b").requests(cpu="1"))
    harness.queue.update(pod("b"), changed)
    harness.queue.move_all(NODE_ADD, None, None)

    assert sorted(harness.drain()) == [["a"], ["b"]]


def test_the_time_limit_has_one_tried() -> None:
    harness = backlog("a", "b", "c")
    harness.at(301)
    entity = harness.pop()

    assert entity.flushed
    assert harness.queue.pop() is None


def test_a_pod_that_is_activated_is_tried_whatever_the_others_do() -> None:
    harness = backlog("a", "b", "c")
    harness.queue.activate([pod("b")])
    assert harness.drain() == [["b"]]

    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.drain() == [["a"]]


def test_deleted_pods_leave_no_trace_in_a_batch() -> None:
    harness = backlog("a", "b", "c")
    for name in ("b", "a", "c"):
        harness.queue.remove(pod(name))

    assert sum(harness.queue.contents.counts().values()) == 0
    assert harness.metrics.held == {"Fit": 0}
    assert harness.queue.next_deadline() is None


def test_without_backoff_events_and_placements_release_one_pod_after_another() -> None:
    harness = backlog("a", "b", "c", harness=Harness(FIT, backoff=BackoffPolicy(max_seconds=0)))
    harness.queue.move_all(NODE_ADD, None, None)
    tried = []
    while names := harness.pop_names():
        tried += names
        harness.queue.found_node(pod(names[0]).uid)

    assert tried == ["a", "b", "c"]
