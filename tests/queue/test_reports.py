"""The queue's reports to metrics and users."""

import pytest

from muster.framework.contract.events import NODE_ADD
from muster.framework.queue.contents import DumpLine
from tests.queue.harness import ERROR, Harness, pod, rejected_by


def busy() -> Harness:
    harness = Harness({"P": [], "Gate": []})
    harness.closed["Gate"] = {"gated"}
    harness.wait(rejected_by("P"), "u1", "u2", group="u")
    harness.wait(rejected_by("P"), "u3")
    harness.wait(ERROR, "b1", "b2", "b3", group="b")
    harness.add("flying")
    harness.pop()
    harness.add("gated", group="u")
    harness.add("a1", "a2", group="a")
    harness.add("a3")
    return harness


def test_counts_are_pods_by_part() -> None:
    assert busy().queue.contents.counts() == {"active": 3, "backoff": 3, "unschedulable": 3, "gated": 1}


def test_entity_counts_are_entries_by_part_and_kind() -> None:
    assert busy().queue.contents.entity_counts() == {
        ("active", "pod"): 1,
        ("active", "podgroup"): 1,
        ("backoff", "pod"): 0,
        ("backoff", "podgroup"): 1,
        ("unschedulable", "pod"): 1,
        ("unschedulable", "podgroup"): 1,
        ("gated", "pod"): 1,
    }


def test_the_dump_has_a_line_for_every_pod() -> None:
    lines = busy().queue.contents.dump()

    assert [(line.place, line.entity, line.pod, line.attempts, line.plugins) for line in lines] == [
        ("active", "group/a", "default/a1", 0, ()),
        ("active", "group/a", "default/a2", 0, ()),
        ("active", "pod/default/a3", "default/a3", 0, ()),
        ("error backoff", "group/b", "default/b1", 1, ()),
        ("error backoff", "group/b", "default/b2", 1, ()),
        ("error backoff", "group/b", "default/b3", 1, ()),
        ("gated", "", "default/gated", 0, ("Gate",)),
        ("in flight", "pod/default/flying", "default/flying", 1, ()),
        ("unschedulable", "group/u", "default/u1", 1, ("P",)),
        ("unschedulable", "group/u", "default/u2", 1, ("P",)),
        ("unschedulable", "pod/default/u3", "default/u3", 1, ("P",)),
    ]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            DumpLine("unschedulable", "group/g", "default/a", "uid", 2, 0.0, ("P", "Q")),
            "unschedulable: default/a of group/g, attempts 2, held back by P, Q",
        ),
        (
            DumpLine("gated", "", "default/a", "uid", 0, 0.0, ("Gate",)),
            "gated: default/a, attempts 0, held back by Gate",
        ),
    ],
)
def test_a_dumped_line_reads_well(line: DumpLine, text: str) -> None:
    assert str(line) == text


def test_an_entry_is_reported_with_its_pods_when_it_enters_a_part() -> None:
    harness = Harness()
    harness.wait(rejected_by("P"), "g1", "g2", group="g")
    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.metrics.pods["unschedulable", "ScheduleAttemptFailure"] == 2
    assert harness.metrics.entities["unschedulable", "ScheduleAttemptFailure", "podgroup"] == 1
    assert harness.metrics.pods["backoff", "NodeAdd"] == 2


def test_pods_that_join_an_entry_are_reported_without_the_rest_of_it() -> None:
    harness = Harness({"P": []})
    harness.add("g1", "g2", "g3", group="g")
    assert harness.metrics.pods["active", "UnscheduledPodAdd"] == 3
    for member in harness.pop().pods.values():
        harness.queue.requeue([member], rejected_by("P"))

    assert harness.metrics.pods["unschedulable", "ScheduleAttemptFailure"] == 3


def test_a_plugin_holds_a_pod_back_from_its_rejection_until_it_is_popped_or_deleted() -> None:
    harness = Harness({"P": [], "Q": []})
    a, b = harness.wait(rejected_by("P", "Q"), "a", "b")
    assert harness.metrics.held == {"P": 2, "Q": 2}
    harness.queue.remove(b)
    assert harness.metrics.held == {"P": 1, "Q": 1}
    harness.queue.activate([a])
    assert harness.metrics.held == {"P": 1, "Q": 1}
    harness.pop()
    assert harness.metrics.held == {"P": 0, "Q": 0}


def test_get_finds_a_pod_wherever_it_is() -> None:
    queue = busy().queue

    for name in ("u1", "u3", "b2", "flying", "gated", "a1", "a3"):
        queued = queue.contents.get(f"pod-default-{name}")
        assert queued is not None
        assert queued.info.name == name
    assert queue.contents.get(pod("unknown").uid) is None
