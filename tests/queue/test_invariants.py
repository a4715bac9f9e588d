"""Any sequence of calls leaves every pod in the one place where a plain model of the rules has it."""

from itertools import cycle

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from muster.framework.contract import events
from muster.framework.contract.events import (
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    UNSCHEDULED_POD_ADD,
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
)
from muster.framework.contract.plugin import QueuedPod
from muster.framework.model.pod_info import PodInfo
from muster.framework.queue.entity import Rejection
from muster.framework.queue.transitions import Place
from tests.builders import make_pod
from tests.queue.harness import Harness, pod
from tests.queue.model import Model, ModelPod, gang_hint, room_hint

REGISTRATIONS: dict[str, list[EventRegistration]] = {
    "Node": [EventRegistration(NODE_ADD)],
    "Room": [EventRegistration(ASSIGNED_POD_DELETE, room_hint)],
    "Gang": [EventRegistration(UNSCHEDULED_POD_ADD, gang_hint)],
    "Label": [EventRegistration(events.TARGET_POD_LABEL)],
    "Gate": [EventRegistration(events.TARGET_POD_LABEL)],
    "Anything": [EventRegistration(ClusterEvent(EventResource.WILDCARD, Action.ALL))],
}
PLUGINS = ["Node", "Room", "Gang", "Label", "Anything"]
PLACES = {
    Place.ACTIVE: "active",
    Place.BACKOFF: "backoff",
    Place.ERROR_BACKOFF: "error",
    Place.UNSCHEDULABLE: "unschedulable",
    Place.GATED: "gated",
    Place.IN_FLIGHT: "flying",
}

plugin_sets = st.frozensets(st.sampled_from(PLUGINS), max_size=2)
rejections = st.builds(Rejection, plugin_sets, plugin_sets, st.booleans())
happenings = st.sampled_from([None, NODE_ADD, ASSIGNED_POD_DELETE])
picks = st.integers(0, 10**6)
kinds = st.tuples(st.sampled_from(["", "g", "h"]), st.integers(0, 2))


class QueueMachine(RuleBasedStateMachine):
    """Does the same to the queue and to the model."""

    def new_harness(self) -> Harness:
        """What it is done to."""
        return Harness(REGISTRATIONS)

    @initialize(pods=st.lists(kinds, min_size=3, max_size=8))
    def begin(self, pods: list[tuple[str, int]]) -> None:
        self.harness = self.new_harness()
        self.queue = self.harness.queue
        self.model = Model(self.harness.clock.time)
        self.known: dict[str, PodInfo] = {}
        self.popped: dict[str, QueuedPod] = {}
        self.finished: dict[str, tuple[QueuedPod, ModelPod]] = {}
        self.woken_when_empty: int | None = None
        self.born = 0
        self.harness.unknown = self.model.unknown = {"h"}
        for kind in pods:
            self.add(kind, gated=False)

    # Pods come, change and go.

    @rule(kind=kinds, gated=st.booleans())
    def add(self, kind: tuple[str, int], gated: bool) -> None:
        self.born += 1
        info = pod(f"pod-{self.born}", group=kind[0], priority=kind[1])
        if gated:
            self._close(info)
        self.known[info.uid] = info
        self.queue.add(info)
        self.model.add(info)
        self.pass_time(0.001)

    @precondition(lambda self: self.known)
    @rule(pick=picks, opened=st.booleans())
    def relabel(self, pick: int, opened: bool) -> None:
        old = self._pick(self.known, pick)
        if opened:
            self._open(old)
        self.born += 1
        plain = make_pod(old.name).labels(old.labels, version=str(self.born))
        new = pod(plain, priority=old.priority)
        self.known[new.uid] = new
        self.queue.update(old, new)
        self.model.relabel(new)

    @precondition(lambda self: self.known)
    @rule(pick=picks)
    def delete(self, pick: int) -> None:
        info = self._pick(self.known, pick)
        del self.known[info.uid]
        self.queue.remove(info)
        self.model.delete(info.uid)

    @precondition(lambda self: self.known)
    @rule(pick=picks)
    def shut_a_gate(self, pick: int) -> None:
        self._close(self._pick(self.known, pick))

    @rule()
    def found_or_dissolve_a_group(self) -> None:
        self.model.unknown.symmetric_difference_update({"h"})

    # Attempts begin and end.

    @rule()
    def pop(self) -> None:
        entry = self.queue.pop()
        expected = self.model.pop()
        members = {} if entry is None else entry.pods
        assert list(members) == [each.info.uid for each in expected]
        for uid, each in zip(members, expected, strict=True):
            member = members[uid]
            assert member.info is each.info
            assert (member.attempts, member.timestamp) == (each.attempts, each.timestamp)
            assert (member.unschedulable_count, member.consecutive_errors) == (each.rejections, each.errors)
            self.popped[uid] = member
        self.woken_when_empty = self.harness.woken if entry is None else None

    @rule(rejection=rejections, event=happenings)
    def pop_and_fail(self, rejection: Rejection, event: ClusterEvent | None) -> None:
        before = len(self.model.flying)
        self.pop()
        if event is not None:
            self.happen(event, "room")
        self._fail(self.model.flying[before:], rejection)

    @rule(each=st.lists(st.tuples(rejections, happenings, st.sampled_from([0.0, 0.5, 20.0])), min_size=1, max_size=3))
    def pop_and_fail_one_by_one(self, each: list[tuple[Rejection, ClusterEvent | None, float]]) -> None:
        before = len(self.model.flying)
        self.pop()
        for flown, (rejection, event, seconds) in zip(self.model.flying[before:], cycle(each), strict=False):
            if event is not None:
                self.happen(event, "room")
            self.pass_time(seconds)
            self._fail([flown], rejection)

    @rule(pick=picks)
    def done(self, pick: int) -> None:
        for flying in self._flying(pick):
            uid = flying.info.uid
            del self.known[uid]
            self.queue.done(uid)
            self.model.done(uid)
            self.finished[uid] = self.popped.pop(uid), flying

    @rule(pick=picks, rejection=rejections)
    def fail_alone(self, pick: int, rejection: Rejection) -> None:
        self._fail(self._flying(pick), rejection)

    @rule(pick=picks, rejection=rejections)
    def fail_together(self, pick: int, rejection: Rejection) -> None:
        for first in self._flying(pick):
            siblings = [each for each in self.model.flying if first.label is not None and each.label == first.label]
            self._fail(siblings or [first], rejection)

    @precondition(lambda self: self.finished)
    @rule(pick=picks, rejection=rejections)
    def fail_after_done(self, pick: int, rejection: Rejection) -> None:
        queued, flown = self.finished.pop(sorted(self.finished)[pick % len(self.finished)])
        queued.info = self.known[queued.info.uid] = flown.info  # the caller's to do, once the pod is done
        self.queue.requeue([queued], rejection)
        self.model.fail([flown], rejection)

    @precondition(lambda self: self.popped)
    @rule(pick=picks, rejection=rejections)
    def fail_too_late(self, pick: int, rejection: Rejection) -> None:
        uid = sorted(self.popped)[pick % len(self.popped)]
        if uid not in self.known:
            self.queue.requeue([self.popped.pop(uid)], rejection)  # deleted in flight: nothing may come of it

    # Other things happen.

    @rule(event=st.sampled_from([NODE_ADD, ASSIGNED_POD_DELETE]), thing=st.sampled_from(["room", "no room"]))
    def happen(self, event: ClusterEvent, thing: str) -> None:
        self.queue.move_all(event, thing, None)
        self.model.happen(event.label, thing)

    @precondition(lambda self: self.known)
    @rule(pick=picks)
    def activate(self, pick: int) -> None:
        info = self._pick(self.known, pick)
        self.queue.activate([info])
        self.model.activate(info.uid)

    @rule(seconds=st.sampled_from([0.25, 0.5, 1.0, 2.5, 31.0, 301.0]))
    def pass_time(self, seconds: float) -> None:
        self.harness.at(seconds)
        self.model.pass_time(self.harness.clock.time)

    # What always holds.

    @invariant()
    def every_pod_is_in_the_place_the_model_has_it(self) -> None:
        places = {info.uid: self.queue.contents.place_of(info.uid) for info in self.known.values()}
        assert {uid: PLACES[place] for uid, place in places.items() if place} == self.model.places()
        assert {line.uid for line in self.queue.contents.dump()} == set(self.model.places())

    @invariant()
    def every_pod_is_there_in_its_latest_version(self) -> None:
        for uid, info in self.known.items():
            queued = self.queue.contents.get(uid)
            assert queued is not None
            if self.queue.contents.place_of(uid) is not Place.IN_FLIGHT:
                assert queued.info is info

    @invariant()
    def counts_agree(self) -> None:
        places = list(self.model.places().values())
        entities = self.queue.contents.entity_counts()
        assert self.queue.contents.counts() == {
            "active": places.count("active"),
            "backoff": places.count("backoff") + places.count("error"),
            "unschedulable": places.count("unschedulable"),
            "gated": places.count("gated"),
        }
        assert sum(entities.values()) == len(self.model.entries) + len(self.model.gated)
        assert {plugin: held for plugin, held in self.harness.metrics.held.items() if held} == self.model.held()

    @invariant()
    def a_loop_that_found_nothing_is_woken_when_there_is_something(self) -> None:
        if self.woken_when_empty is not None and self.model.next() is not None:
            assert self.harness.woken > self.woken_when_empty

    @invariant()
    def whatever_waits_for_a_time_has_a_deadline(self) -> None:
        timed = set(self.model.places().values()) - {"active", "flying"}
        assert (self.queue.next_deadline() is not None) == bool(timed)

    @invariant()
    def no_event_is_kept_without_a_pod_that_missed_it(self) -> None:
        if not self.model.flying:
            assert self.queue._in_flight.kept_events == 0

    def teardown(self) -> None:
        """Time alone brings everything out, except for what stands at a gate."""
        for _ in range(4):
            self.pass_time(301.0)
            self.pass_time(61.0)
        assert set(self.model.places().values()) <= {"active", "gated", "flying"}
        while self.model.next() is not None:
            self.pop()
        assert self.queue.pop() is None
        self.every_pod_is_in_the_place_the_model_has_it()

    def _flying(self, pick: int) -> list[ModelPod]:
        """One pod in flight, if there is any."""
        return self.model.flying[pick % len(self.model.flying) :][:1] if self.model.flying else []

    def _fail(self, pods: list[ModelPod], rejection: Rejection) -> None:
        if pods:
            self.queue.requeue([self.popped.pop(each.info.uid) for each in pods], rejection)
            self.model.fail(pods, rejection)

    @staticmethod
    def _pick(pods: dict[str, PodInfo], pick: int) -> PodInfo:
        return pods[sorted(pods)[pick % len(pods)]]

    def _close(self, info: PodInfo) -> None:
        self.harness.closed.setdefault("Gate", set()).add(info.name)
        self.model.closed.add(info.name)

    def _open(self, info: PodInfo) -> None:
        self.harness.closed.setdefault("Gate", set()).discard(info.name)
        self.model.closed.discard(info.name)


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
