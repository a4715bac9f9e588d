"""Changes of pods that are in the queue."""

import pytest

from muster.framework.contract import events
from muster.framework.contract.events import NODE_ADD, EventRegistration, Hint, pod_update_events
from muster.framework.model.pod_info import PodInfo
from muster.framework.queue.transitions import Place
from tests.builders import PodDict, make_pod
from tests.queue.harness import ERROR, GROUP, Harness, pod, rejected_by

GATED = make_pod("a")
GATED["spec"]["schedulingGates"] = [{"name": "wait"}]
TOLERANT = make_pod("a")
TOLERANT["spec"]["tolerations"] = [{"operator": "Exists"}]
ON_LABEL = {"P": [EventRegistration(events.TARGET_POD_LABEL)]}


def sized(**requests: str) -> PodDict:
    return make_pod("a").requests(**requests)


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        (make_pod("a"), make_pod("a"), ["TargetPodUpdate"]),
        (make_pod("a"), make_pod("a").labels(app="x"), ["TargetPodUpdatePodLabel"]),
        (sized(cpu="2"), sized(cpu="1"), ["TargetPodUpdatePodScaleDown"]),
        (sized(cpu="2", memory="1Gi"), sized(cpu="2"), ["TargetPodUpdatePodScaleDown"]),
        (sized(cpu="1"), sized(cpu="2"), ["TargetPodUpdatePodScaleUp"]),
        (
            sized(cpu="1", memory="2Gi"),
            sized(cpu="2", memory="1Gi"),
            ["TargetPodUpdatePodScaleDown", "TargetPodUpdatePodScaleUp"],
        ),
        (GATED, make_pod("a"), ["TargetPodUpdatePodSchedulingGatesEliminated"]),
        (make_pod("a"), TOLERANT, ["TargetPodUpdatePodToleration"]),
        (GATED, TOLERANT, ["TargetPodUpdatePodSchedulingGatesEliminated", "TargetPodUpdatePodToleration"]),
    ],
)
def test_an_update_is_named_by_what_changed(old: PodDict, new: PodDict, labels: list[str]) -> None:
    assert [event.label for event in pod_update_events(pod(old), pod(new))] == labels


def relabelled(info: PodInfo) -> PodInfo:
    return pod(make_pod(info.name).labels(info.labels, changed="yes"))


def test_an_active_pod_is_replaced_in_place() -> None:
    harness = Harness()
    [info] = harness.add("a")
    newer = relabelled(info)
    harness.queue.update(info, newer)

    queued = harness.queue.contents.get(info.uid)
    assert queued is not None
    assert queued.info is newer
    assert harness.place(info) is Place.ACTIVE


def test_a_change_that_the_rejecting_plugin_registered_for_moves_the_pod() -> None:
    harness = Harness(ON_LABEL)
    [info] = harness.wait(rejected_by("P"), "a")
    harness.queue.update(info, relabelled(info))

    assert harness.place(info) is Place.BACKOFF
    assert harness.metrics.pods["backoff", "TargetPodUpdatePodLabel"] == 1


def test_a_change_that_does_not_help_leaves_the_pod_waiting_in_its_new_version() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD)]})
    [info] = harness.wait(rejected_by("P"), "a")
    newer = relabelled(info)
    harness.queue.update(info, newer)

    queued = harness.queue.contents.get(info.uid)
    assert harness.place(info) is Place.UNSCHEDULABLE
    assert queued is not None
    assert queued.info is newer


def test_a_change_of_one_pod_is_no_event_for_the_others() -> None:
    harness = Harness(ON_LABEL)
    changed, other = harness.wait(rejected_by("P"), "a", "b")
    harness.queue.update(changed, relabelled(changed))

    assert harness.place(changed) is Place.BACKOFF
    assert harness.place(other) is Place.UNSCHEDULABLE


def test_a_change_in_flight_counts_when_the_pod_comes_back_and_for_that_pod_only() -> None:
    harness = Harness(ON_LABEL)
    changed, other = harness.add("a", "b")
    entries = [harness.pop(), harness.pop()]
    newer = relabelled(changed)
    harness.queue.update(changed, newer)
    members = [member for entry in entries for member in entry.pods.values()]
    assert members[0].info is changed  # the attempt goes on with what it began with
    for entry in entries:
        harness.fail(entry, rejected_by("P"))

    assert members[0].info is newer
    assert harness.place(changed) is Place.BACKOFF
    assert harness.place(other) is Place.UNSCHEDULABLE


def test_the_second_kind_of_change_counts_when_the_first_does_not_help() -> None:
    def skip(pod: PodInfo, old: object, new: object) -> Hint:
        return Hint.SKIP

    harness = Harness(
        {"P": [EventRegistration(events.TARGET_POD_LABEL, skip), EventRegistration(events.TARGET_POD_TOLERATION)]}
    )
    [info] = harness.wait(rejected_by("P"), "a")
    harness.queue.update(info, pod(TOLERANT.labels(app="x")))

    assert harness.place(info) is Place.BACKOFF
    assert harness.metrics.pods["backoff", "TargetPodUpdatePodToleration"] == 1


def test_another_uid_is_another_pod() -> None:
    harness = Harness()
    [old] = harness.wait(ERROR, "a")
    new = pod("a", uid="another")
    harness.queue.update(old, new)

    assert harness.place(old) is None
    assert harness.place(new) is Place.ACTIVE
    assert harness.pop().consecutive_errors == 0


def test_an_update_of_an_unknown_pod_adds_it() -> None:
    harness = Harness()
    harness.queue.update(pod("a"), relabelled(pod("a")))

    assert harness.drain() == [["a"]]


def test_adding_a_pod_that_is_here_updates_it() -> None:
    harness = Harness()
    [info] = harness.add("a")
    newer = relabelled(info)
    harness.queue.add(newer)

    [member] = harness.pop().pods.values()
    assert member.info is newer
    harness.queue.add(info)
    assert harness.place(info) is Place.IN_FLIGHT


def test_a_pod_that_changes_its_group_leaves_the_old_and_joins_the_new() -> None:
    harness = Harness()
    moving, _ = harness.add("a", "b", group="old")
    harness.add("c", group="new")
    harness.queue.update(moving, pod(make_pod("a").labels({GROUP: "new"})))

    assert sorted(map(sorted, harness.drain())) == [["a", "c"], ["b"]]


def test_a_pod_that_changed_its_group_in_flight_comes_back_to_the_new_one() -> None:
    harness = Harness()
    moving, _ = harness.add("a", "b", group="old")
    entry = harness.pop()
    harness.queue.update(moving, pod(make_pod("a")))
    harness.fail(entry, ERROR)
    harness.at(2)

    assert sorted(harness.drain()) == [["a"], ["b"]]


def test_a_gated_pod_that_changes_its_group_joins_the_new_one_when_it_is_ungated() -> None:
    harness = Harness()
    harness.closed["Gate"] = {"a"}
    [info] = harness.add("a", group="old")
    harness.add("b", group="new")
    harness.queue.update(info, pod(make_pod("a").labels({GROUP: "new"})))
    harness.open("Gate")
    harness.queue.move_all(NODE_ADD, None, None)

    assert [sorted(names) for names in harness.drain()] == [["a", "b"]]
