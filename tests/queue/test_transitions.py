"""The table of moves: the queue plays each row of it, and refuses every move that it does not have."""

from collections.abc import Callable
from itertools import product

import pytest

from muster.framework.contract.events import (
    NODE_ADD,
    TARGET_POD_LABEL,
    UNSCHEDULED_POD_ADD,
    EventRegistration,
)
from muster.framework.contract.plugin import QueuedPod
from muster.framework.contract.status import Status
from muster.framework.model.pod_info import PodInfo
from muster.framework.queue import places, transitions
from muster.framework.queue.entity import QueuedEntity, QueuedPodInfo, Rejection
from muster.framework.queue.places import Places
from muster.framework.queue.policy import BackoffPolicy
from muster.framework.queue.transitions import TABLE, Cause, IllegalMove, Place, Transition, Trigger, When
from tests.builders import make_pod
from tests.queue.harness import ERROR, Harness, no_node, pending_on, pod, rejected_by, same_group

Row = tuple[Trigger, Place, When]
ROWS: list[Row] = [(trigger, source, when) for (trigger, source), targets in TABLE.items() for when in targets]
REGISTRATIONS: dict[str, list[EventRegistration]] = {
    "Gang": [EventRegistration(UNSCHEDULED_POD_ADD, same_group)],
    "Fit": [EventRegistration(NODE_ADD)],
    "Gate": [EventRegistration(TARGET_POD_LABEL)],
}
BACKOFF_SECONDS = 1000.0


class Play:
    """Plays one row. `bring` takes pods to the place, `hold` sees to the condition, and the trigger's method moves."""

    def __init__(self, source: Place, when: When) -> None:
        self.source = source
        self.when = when
        self.harness = Harness(REGISTRATIONS, backoff=BackoffPolicy(BACKOFF_SECONDS, BACKOFF_SECONDS))
        self.queue = self.harness.queue

    def hold(self, *waiting: PodInfo) -> None:
        """Let the condition hold, of these pods' entities if it is one of their own, from now on."""
        entities = [self.queue._places.entity_of[info.uid] for info in waiting]
        if self.when is When.READY:
            self.harness.clock.time += 2 * BACKOFF_SECONDS
        elif self.when is When.BACKING_OFF:
            for entity in entities:
                entity.unschedulable_count, entity.backoff_until = 1, 1e9
        elif self.when is When.BACKING_OFF_AFTER_ERROR:
            for entity in entities:
                entity.consecutive_errors, entity.backoff_until = 1, 1e9
        elif self.when is When.LARGE:
            self.queue._moves._most_at_once = 0
        elif self.when is When.GATED:
            self.harness.closed["Door"] = {"a", "b"}
        elif self.when is When.FAILED:
            self.harness.clock.time += 2 * BACKOFF_SECONDS
            self.harness.sort_key = _fails  # type: ignore[assignment]  # it may answer an ERROR

    def bring(self, *, group: str = "") -> PodInfo:
        """A pod to where the move begins."""
        harness, queue = self.harness, self.queue
        if self.source is Place.NOWHERE:
            return pod("a", group=group)
        if self.source is Place.GATED:
            harness.closed["Gate"] = {"a"}
        [info] = harness.add("a", group=group)
        harness.closed.clear()
        if self.source in (Place.ACTIVE, Place.GATED):
            return info
        [queued] = harness.pop().pods.values()
        self.fail_towards(self.source, queued)
        return queue.contents.get(info.uid).info  # type: ignore[union-attr]  # it is somewhere

    def fail_towards(self, place: Place, queued: QueuedPod) -> None:
        """Let a pod in flight fail so that it goes there."""
        if place is Place.BACKOFF:
            self.relabel(queued.info)
        if place is not Place.IN_FLIGHT:
            rejection = {Place.BACKOFF: rejected_by("Gate"), Place.UNSCHEDULABLE: rejected_by("Fit")}.get(place, ERROR)
            self.queue.requeue([queued], rejection)

    def keep_out(self) -> PodInfo:
        """A pod that a plugin's error keeps out."""
        self.harness.gate = lambda info: Status.failure("a bug")
        [info] = self.harness.add("a")
        self.harness.gate = lambda info: None
        return info

    def relabel(self, old: PodInfo, group: str | None = None) -> PodInfo:
        labels = {**old.labels, "changed": "yes"} | ({} if group is None else {"scheduling.x-k8s.io/pod-group": group})
        new = pod(make_pod(old.name).labels(labels))
        self.queue.update(old, new)
        return new

    # The triggers.

    def pod_add(self) -> None:
        info = self.bring()
        self.hold()
        self.queue.add(info)

    def attempt_failure(self) -> None:
        queue, entity = self.queue, None
        if self.source is Place.IN_FLIGHT:
            self.harness.add("a")
            [failing] = self.harness.pop().pods.values()
        else:
            self.harness.add("a", "b", group="g")
            waiting, failing = self.harness.pop().pods.values()
            self.fail_towards(self.source, waiting)
            entity = queue._places.entity_of[waiting.info.uid]
            assert entity.place is self.source
        self.hold()
        if self.when is not When.NOT_HELPED:
            self.relabel(failing.info)
        rejections = {
            When.BACKING_OFF: rejected_by("Gate"),
            When.NOT_HELPED: rejected_by("Fit"),
            When.BACKING_OFF_AFTER_ERROR: ERROR,
            When.GATED: ERROR,
        }
        queue.requeue([failing], rejections.get(self.when, pending_on("Gate")))

    def cluster_event(self) -> None:
        if self.source is Place.UNSCHEDULABLE:
            self.hold(self.bring())
            self.queue.move_all(NODE_ADD, None, None)
        elif self.source is Place.BACKOFF and self.when is When.LARGE:
            [info] = self.harness.add("a", group="g")
            [queued] = self.harness.pop().pods.values()
            self.relabel(info)
            self.queue.requeue([queued], Rejection(frozenset({"Gate"}), frozenset({"Gang"})))
            self.hold()
            self.harness.add("b", group="g")
        else:
            info = self.keep_out() if self.source is Place.ERROR_BACKOFF else self.bring()
            self.hold(info)
            self.relabel(info, None if self.source in (Place.GATED, Place.ERROR_BACKOFF) else "g")

    def force_activate(self) -> None:
        self.harness.unknown = {"g"}  # whom it puts into a group is asked about
        info = self.bring(group="g" if self.when is When.GATED or self.source is Place.ACTIVE else "")
        self.harness.unknown.clear()
        self.hold()
        self.queue.activate([info])
        self.queue.settle()

    def backoff_complete(self) -> None:
        if self.source is Place.UNSCHEDULABLE:
            self.source = Place.BACKOFF
            self.bring()
            self.queue._moves._most_at_once = 0
            self.harness.at(2 * BACKOFF_SECONDS)
            self.hold()
            self.queue.settle()
            return
        if self.when is When.GATED:
            self.keep_out()
        else:
            self.bring()
        self.hold()
        self.harness.at(2 * BACKOFF_SECONDS)

    def unschedulable_timeout(self) -> None:
        self.hold(self.bring())
        self.harness.at(310)

    def review(self) -> None:
        self.hold(self.bring())
        _, [waiting] = self.queue.contents.unschedulable()
        self.queue.try_again(waiting)

    def joined_group(self) -> None:
        if self.source is Place.UNSCHEDULABLE:
            [info] = self.harness.wait(rejected_by("Fit"), "a", group="g")
            self.harness.unknown = {"g"}
            self.harness.add("b", group="g")
            self.hold(info)
        else:
            self.harness.unknown = {"g"}
            self.bring(group="g")
            self.hold()
        self.harness.unknown = set()
        self.queue.pop()

    def pop(self) -> None:
        self.bring()
        self.queue.pop()

    def call_off(self) -> None:
        self.harness.wait(no_node("Fit"), "a", "b")
        self.queue.move_all(NODE_ADD, None, None)
        if self.source is Place.ACTIVE:
            self.harness.at(2 * BACKOFF_SECONDS)
        self.hold()
        self.harness.has_room = False
        self.queue.pop()

    def refile(self) -> None:
        if self.source is Place.UNSCHEDULABLE:
            [info] = self.harness.wait(no_node("Fit"), "a")
            self.queue.update(info, pod(make_pod("a").requests(cpu="7")))
            return
        first, second = self.harness.add("a", "b", group="g")
        if self.source is Place.BACKOFF:
            entity = self.harness.pop()
            self.relabel(second)
            self.harness.fail(entity, rejected_by("Gate"))
        self.queue.remove(first)
        self.hold()
        self.queue.pop()

    def remove(self) -> None:
        self.queue.remove(self.bring())


def _fails(_: QueuedPod) -> Status:
    return Status.failure("a bug")


@pytest.mark.parametrize(("trigger", "source", "when"), ROWS, ids=lambda part: part.name.lower())
def test_the_queue_plays_the_row(monkeypatch: pytest.MonkeyPatch, trigger: Trigger, source: Place, when: When) -> None:
    played: list[tuple[Row, Place]] = []
    looked_up: list[Row] = []
    move: Callable[..., None] = Places.move

    def noted(entity: str, trigger: Trigger, source: Place, when: When) -> Transition:
        looked_up.append((trigger, source, when))
        return transitions.transition(entity, trigger, source, when)

    def recorded(self: Places, entity: QueuedEntity, *args: object, **kwargs: object) -> None:
        move(self, entity, *args, **kwargs)
        played.append((looked_up[-1], entity.place))

    monkeypatch.setattr(places, "transition", noted)
    monkeypatch.setattr(Places, "move", recorded)
    getattr(Play(source, when), trigger.name.lower())()

    assert ((trigger, source, when), TABLE[trigger, source][when]) in played


def test_a_move_that_is_not_in_the_table_is_refused_and_changes_nothing() -> None:
    queues = Harness().queue._places
    for trigger, place, when in set(product(Trigger, Place, When)) - set(ROWS):
        entity = QueuedEntity.of(QueuedPodInfo(pod("a"), 0.0, 0.0), None, 0.0, place)
        with pytest.raises(IllegalMove, match=f"pod/default/a is {place.label}: {trigger.value} does not move it"):
            queues.move(entity, Cause(trigger, ""), when)
        assert entity.place is place
    assert list(queues.entity_of) == []
