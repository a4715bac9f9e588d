"""A queue whose clock, gates, groups and registrations are in the test's hands."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

import msgspec

from muster.framework.contract.events import NODE_ADD, UNSCHEDULED_POD_ADD, EventRegistration, Hint
from muster.framework.contract.plugin import QueuedPod
from muster.framework.contract.status import Status
from muster.framework.metrics import Labels, SchedulerMetrics
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.queue.entity import QueuedEntity, Rejection
from muster.framework.queue.policy import BackoffPolicy, QueueSettings
from muster.framework.queue.scheduling_queue import SchedulingQueue
from muster.framework.queue.transitions import Place
from muster.testing.slices import slices_of
from tests.builders import PodDict, make_pod
from tests.clocks import ManualClock

GROUP = "scheduling.x-k8s.io/pod-group"
ERROR = Rejection(error=True)


def rejected_by(*plugins: str) -> Rejection:
    """A rejection by plugins that wait for an event."""
    return Rejection(frozenset(plugins))


def no_node(*plugins: str) -> Rejection:
    """No node could take the pods, and these plugins say why: `Fit` and `Taint` by signature, `Labels` by class."""
    return Rejection(frozenset(plugins), no_node=True)


def pending_on(*plugins: str) -> Rejection:
    """A rejection by plugins that answered PENDING."""
    return Rejection(frozenset(), frozenset(plugins))


def pod(name: str | PodDict, *, group: str = "", priority: int = 0, uid: str = "") -> PodInfo:
    """A typed pod."""
    plain = make_pod(name) if isinstance(name, str) else name
    if group:
        plain.labels({GROUP: group})
    if priority:
        plain["spec"]["priority"] = priority
    if uid:
        plain["metadata"]["uid"] = uid
    return PodInfo(msgspec.convert(plain, Pod))


class QueueMetrics(SchedulerMetrics):
    """What the queue has counted, by sub-queue and event, and by plugin."""

    @property
    def pods(self) -> Counter[Labels]:
        return Counter(self.queue_incoming_pods.values())

    @property
    def entities(self) -> Counter[Labels]:
        return Counter(self.queue_incoming_entities.values())

    @property
    def held(self) -> Counter[str]:
        held: Counter[str] = Counter()
        for (plugin, _), pods in self.unschedulable_pods.values().items():
            held[plugin] += pods
        return held


class Answers:
    """Implements `QueuePolicy` by what a harness says."""

    sort_plugin = "Sort"
    signature_plugins: Mapping[str, frozenset[str]] = {"muster": frozenset({"Fit", "Taint"})}
    class_plugins: Mapping[str, frozenset[str]] = {"muster": frozenset({"Labels"})}

    def __init__(self, harness: "Harness", registrations: Mapping[str, Sequence[EventRegistration]]) -> None:
        self.registrations = {"muster": registrations}
        self.divides_namespaces = harness.divides_namespaces
        self._harness = harness

    def sort_key(self, pod: QueuedPod) -> tuple[Hashable, ...]:
        return self._harness.sort_key(pod)

    def run_pre_enqueue(self, pod: PodInfo, first: str) -> Status | None:
        return self._harness.run_pre_enqueue(pod, first)

    def entity_group(self, pod: PodInfo) -> str | None:
        return self._harness.group_of(pod)

    def has_capacity(
        self, group: str | None, pods: Collection[PodInfo], rejectors: frozenset[str], *, may_evict: bool
    ) -> bool:
        return self._harness.has_room

    def awaits_victims(self, pods: Iterable[PodInfo]) -> bool:
        return False

    def is_nominated_elsewhere(self, pod: PodInfo, node_name: str) -> bool:
        return False

    def report_failure(self, pod: PodInfo, status: Status) -> None:
        self._harness.reported.append((pod.name, status.message))


class Harness:
    """The queue with its surroundings.

    Attributes:
        closed: by plugin, the names of pods that its PreEnqueue does not let in.
        unknown: groups that do not exist yet; their pods are pods by themselves.
        asked: each question to PreEnqueue: the pod's name and the plugin to ask first.
        woken: how often the queue said that it is ready.
        has_room: whether any pod could find capacity.
        divides_namespaces: whether equal pods of different namespaces may fare differently.
        sort_key, gate, group_of: what plugins answer; `gate` is asked besides what is `closed`.
        reported: the name of each pod that an error kept out, and the message.
    """

    def __init__(
        self,
        registrations: Mapping[str, Sequence[EventRegistration]] | None = None,
        *,
        backoff: BackoffPolicy | None = None,
        most_at_once: int = 256,
        queue: type[SchedulingQueue] = SchedulingQueue,
        divides_namespaces: bool = False,
    ) -> None:
        self.divides_namespaces = divides_namespaces
        self.clock = ManualClock()
        self.closed: dict[str, set[str]] = {}
        self.unknown: set[str] = set()
        self.asked: list[tuple[str, str]] = []
        self.woken = 0
        self.reported: list[tuple[str, str]] = []
        self.sort_key: Callable[[QueuedPod], tuple[int, float, str]] = sort_key
        self.gate: Callable[[PodInfo], Status | None] = lambda info: None
        self.group_of: Callable[[PodInfo], str | None] = self._group_of
        self.has_room = True
        self.metrics = QueueMetrics()
        self.queue = queue(
            Answers(self, registrations or {}),
            QueueSettings(backoff=backoff or BackoffPolicy(), most_at_once=most_at_once),
            clock=self.clock,
            metrics=self.metrics,
            on_ready=self._wake,
        )

    def add(self, *names: str, group: str = "", priority: int = 0) -> list[PodInfo]:
        """Add pods a millisecond apart."""
        infos = [pod(name, group=group, priority=priority) for name in names]
        for info in infos:
            self.queue.add(info)
            self.clock.time += 0.001
        return infos

    def pop(self) -> QueuedEntity:
        """Pop an entry that must be there."""
        entry = self.queue.pop()
        assert entry is not None
        return entry

    def pop_names(self) -> list[str]:
        """Pop an entry; the names of its pods, none when nothing is ready."""
        entry = self.queue.pop()
        return [] if entry is None else [member.info.name for member in entry.pods.values()]

    def drain(self) -> list[list[str]]:
        """Pop until nothing is ready."""
        popped = []
        while names := self.pop_names():
            popped.append(names)
        return popped

    def fail(self, entry: QueuedEntity, rejection: Rejection) -> None:
        """All pods of an entry failed together."""
        self.queue.requeue(list(entry.pods.values()), rejection)

    def wait(self, rejection: Rejection, *names: str, group: str = "") -> list[PodInfo]:
        """Add pods, try them and let them fail; those of a group together."""
        infos = self.add(*names, group=group)
        entries = []
        while (entry := self.queue.pop()) is not None:
            entries.append(entry)
        for entry in entries:
            self.fail(entry, rejection)
        return infos

    def settle(self) -> int:
        """Let large groups become ready; how many checkpoints that passes."""
        return sum(1 for _ in slices_of(self.queue.settle))

    def at(self, seconds: float) -> None:
        """So many seconds later, flush."""
        self.clock.time += seconds
        self.queue.flush(self.clock.time)

    def place(self, info: PodInfo) -> Place | None:
        """Where the pod is."""
        return self.queue.contents.place_of(info.uid)

    def open(self, plugin: str) -> None:
        """Its PreEnqueue lets everything in from now on."""
        self.closed.pop(plugin)

    def _wake(self) -> None:
        self.woken += 1

    def _group_of(self, info: PodInfo) -> str | None:
        group = info.labels.get(GROUP)
        return None if group in self.unknown else group

    def run_pre_enqueue(self, info: PodInfo, first: str) -> Status | None:
        self.asked.append((info.name, first))
        for plugin in sorted(self.closed, key=lambda name: name != first):
            if info.name in self.closed[plugin]:
                return Status.unresolvable("not yet").by(plugin)
        return self.gate(info)


def sort_key(queued: QueuedPod) -> tuple[int, float, str]:
    """Priority first, then who came earlier."""
    return -queued.info.priority, queued.timestamp, queued.info.key


def same_group(waiting: PodInfo, old: object, new: object) -> Hint:
    """What a gang plugin says when a pod appears."""
    assert isinstance(new, PodInfo)
    return Hint.QUEUE if new.labels.get(GROUP) == waiting.labels.get(GROUP) else Hint.SKIP


ON_SIBLING: Mapping[str, Sequence[EventRegistration]] = {
    "Gang": [EventRegistration(UNSCHEDULED_POD_ADD, same_group)],
    "Fit": [EventRegistration(NODE_ADD)],
}
