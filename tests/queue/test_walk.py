"""Anything may happen to the queue, also while plugins fail: no move is refused, and no pod is lost."""

from random import Random

from muster.framework.contract.events import (
    NODE_ADD,
    TARGET_POD_LABEL,
    UNSCHEDULED_POD_ADD,
    EventRegistration,
)
from muster.framework.contract.plugin import QueuedPod
from muster.framework.contract.status import Status
from muster.framework.model.pod_info import PodInfo
from muster.framework.queue.entity import Rejection
from muster.framework.queue.policy import BackoffPolicy
from muster.framework.queue.transitions import TABLE, Place, Trigger, When
from tests.builders import make_pod
from tests.queue.harness import GROUP, Harness, no_node, pending_on, pod, rejected_by, same_group, sort_key

Row = tuple[Trigger, Place, When]
ROWS: set[Row] = {(trigger, source, when) for (trigger, source), targets in TABLE.items() for when in targets}
REGISTRATIONS: dict[str, list[EventRegistration]] = {
    "Gang": [EventRegistration(UNSCHEDULED_POD_ADD, same_group)],
    "Fit": [EventRegistration(NODE_ADD)],
    "Gate": [EventRegistration(TARGET_POD_LABEL)],
    "Door": [EventRegistration(TARGET_POD_LABEL)],
}
REJECTIONS = [
    rejected_by("Fit"),
    no_node("Fit"),
    pending_on("Gang"),
    pending_on("Fit"),
    Rejection(frozenset({"Fit"}), frozenset({"Gang"})),
    Rejection(error=True),
]
NAMES = ["a", "b", "c", "d"]
GROUPS = ["", "g", "g", "h"]


class Walk:
    """Does this and that to a queue at random, of some kinds of steps more often than of others."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        backoff = BackoffPolicy(*random.choice([(1.0, 10.0), (1000.0, 10_000.0)]))
        self.harness = harness = Harness(REGISTRATIONS, backoff=backoff, most_at_once=random.choice([1, 1, 2, 256]))
        self.queue = harness.queue
        self.known: dict[str, PodInfo] = {}
        self.flying: list[QueuedPod] = []
        self.failing: set[str] = set()
        self.unordered: set[str] = set()
        self.groups = random.choices(GROUPS, k=3)
        self.rejections = random.choices(REJECTIONS, k=random.randint(1, 3))
        self.seconds = random.choices([0.5, 1.5, 20.0, 310.0], k=2)
        self.born = 0
        harness.unknown = set(random.choices(["g", "h", ""], k=2))
        harness.gate = lambda info: Status.failure("a bug") if info.name in self.failing else None
        harness.sort_key = self._sort_key  # type: ignore[assignment]  # it may answer an ERROR
        usual = [self.add, self.pop, self.fail]
        self.steps = usual + random.choices(
            [
                *(self.pass_time, self.delete, self.relabel, self.activate, self.happen, self.review, self.settle),
                *(self.toggle_gate, self.toggle_failure, self.toggle_order, self.toggle_group, self.toggle_room),
            ],
            k=random.randint(3, 7),
        )

    def take(self, steps: int) -> None:
        for _ in range(steps):
            self.random.choice(self.steps)()

    def add(self) -> None:
        name = self.random.choice(NAMES)
        if name not in self.known:
            self.known[name] = pod(name, group=self.random.choice(self.groups))
            self.queue.add(self.known[name])

    def pop(self) -> None:
        entity = self.queue.pop()
        self.flying += [] if entity is None else entity.pods.values()

    def fail(self) -> None:
        if self.flying:
            back = self.random.sample(self.flying, self.random.randint(1, len(self.flying)))
            if self.random.random() < 0.3:
                for each in back:
                    self.queue.done(each.info.uid)
            self.queue.requeue(back, self.random.choice(self.rejections))
            self.flying = [each for each in self.flying if each not in back]

    def settle(self) -> None:
        self.queue.settle()

    def pass_time(self) -> None:
        self.harness.at(self.random.choice(self.seconds))

    def delete(self) -> None:
        for info in self._some():
            del self.known[info.name]
            self.queue.remove(info)
            self.flying = [each for each in self.flying if each.info.uid != info.uid]

    def relabel(self) -> None:
        for info in self._some():
            self.born += 1
            group = self.random.choice([info.labels.get(GROUP, ""), *self.groups])
            plain = make_pod(info.name).labels({GROUP: group} if group else {}, version=str(self.born))
            self.known[info.name] = pod(plain.requests(cpu=f"{self.random.randint(1, 2)}"))
            self.queue.update(info, self.known[info.name])

    def activate(self) -> None:
        self.queue.activate(self._some())

    def happen(self) -> None:
        self.queue.move_all(NODE_ADD, None, None)

    def review(self) -> None:
        batches, entities = self.queue.contents.unschedulable()
        for batch in batches:
            self.queue.try_again(batch)
        for entity in entities:
            self.queue.try_again(entity)

    def toggle_gate(self) -> None:
        gate = self.random.choice(["Gate", "Door"])
        self.harness.closed.setdefault(gate, set()).symmetric_difference_update({self.random.choice(NAMES)})

    def toggle_failure(self) -> None:
        self.failing.symmetric_difference_update({self.random.choice(NAMES)})

    def toggle_order(self) -> None:
        self.unordered.symmetric_difference_update({self.random.choice(NAMES)})

    def toggle_group(self) -> None:
        self.harness.unknown.symmetric_difference_update({self.random.choice(["g", "h"])})

    def toggle_room(self) -> None:
        self.harness.has_room = not self.harness.has_room

    def _some(self) -> list[PodInfo]:
        return [self.known[self.random.choice(sorted(self.known))]] if self.known else []

    def _sort_key(self, queued: QueuedPod) -> tuple[int, float, str] | Status:
        return Status.failure("a bug") if queued.info.name in self.unordered else sort_key(queued)


def test_the_table_has_every_move_and_the_index_every_pod_at_any_time() -> None:
    for seed in range(400):
        walk = Walk(seed)
        walk.take(60)
        assert {line.uid for line in walk.queue.contents.dump()} == {info.uid for info in walk.known.values()}, seed


def test_an_exhausted_queue_has_nothing_to_pop_or_settle() -> None:
    exhausted = 0
    for seed in range(100):
        walk = Walk(seed)
        for _ in range(60):
            walk.take(1)
            exhausted += walk.queue.is_exhausted
            assert not (walk.queue.is_exhausted and walk.queue.pop_is_due()), seed
    assert exhausted
