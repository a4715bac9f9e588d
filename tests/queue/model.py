"""A model of the queue, as plain as possible: lists, full scans, and no regard for speed."""

from collections import Counter
from dataclasses import dataclass, field
from math import floor, sqrt

from muster.framework.contract.events import ASSIGNED_POD_DELETE, NODE_ADD, UNSCHEDULED_POD_ADD, Hint
from muster.framework.model.pod_info import PodInfo
from muster.framework.queue.entity import Rejection
from tests.queue.harness import GROUP

STAY, AFTER_BACKOFF, AT_ONCE = range(3)
WILDCARD = "wildcard"


@dataclass(eq=False)
class ModelPod:
    """A pod and its history."""

    info: PodInfo
    timestamp: float
    attempts: int = 0
    rejections: int = 0
    errors: int = 0
    missed: list[tuple[str, object, str]] = field(default_factory=list)
    gate: str | None = None

    @property
    def label(self) -> str | None:
        return self.info.labels.get(GROUP)

    @property
    def key(self) -> tuple[int, float, str]:
        return -self.info.priority, self.timestamp, self.info.key


@dataclass(eq=False)
class ModelEntry:
    """Pods that wait together. `where` is active, backoff, error or unschedulable."""

    pods: list[ModelPod]
    group: str | None
    timestamp: float
    rejections: int = 0
    errors: int = 0
    unschedulable: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    until: float = float("-inf")
    where: str = ""

    @property
    def key(self) -> tuple[int, float, str]:
        return min(pod.key for pod in self.pods)


def wants(plugin: str, pods: list[ModelPod], kind: str, thing: object) -> bool:
    """The plugins of this model: what each of them says to an event, about pods that it rejected."""
    if plugin == "Anything":
        return True
    if plugin == "Node":
        return kind == NODE_ADD.label
    if plugin == "Room":
        return kind == ASSIGNED_POD_DELETE.label and thing == "room"
    if plugin == "Gang":
        return kind == UNSCHEDULED_POD_ADD.label and any(pod.label == thing for pod in pods)
    assert plugin in ("Label", "Gate")
    return kind == "label"


def room_hint(pod: PodInfo, old: object, new: object) -> Hint:
    """`Room`'s hint, as the queue calls it."""
    return Hint.QUEUE if old == "room" else Hint.SKIP


def gang_hint(pod: PodInfo, old: object, new: object) -> Hint:
    """`Gang`'s hint, as the queue calls it."""
    assert isinstance(new, PodInfo)
    return Hint.QUEUE if new.labels.get(GROUP) == pod.labels.get(GROUP) else Hint.SKIP


class Model:
    """The oracle. Events are `(kind, thing, target)`; an empty target means all pods."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.closed: set[str] = set()
        self.unknown: set[str] = set()
        self.entries: list[ModelEntry] = []
        self.gated: list[ModelPod] = []
        self.asked: dict[str, float] = {}
        self.flying: list[ModelPod] = []
        self.next_sweep = now

    # Questions

    def places(self) -> dict[str, str]:
        """Where each pod is."""
        found = [(pod, entry.where) for entry in self.entries for pod in entry.pods]
        found += [(pod, "gated") for pod in self.gated] + [(pod, "flying") for pod in self.flying]
        assert len({pod.info.uid for pod, _ in found}) == len(found)
        return {pod.info.uid: where for pod, where in found}

    def held(self) -> dict[str, int]:
        """How many pods each plugin holds back."""
        held = Counter("Gate" for _ in self.gated)
        for entry in self.entries:
            for plugin in entry.unschedulable | entry.pending:
                held[plugin] += len(entry.pods)
        return dict(held)

    def next(self) -> ModelEntry | None:
        """The entry to be popped."""
        active = [entry for entry in self.entries if entry.where == "active"]
        early = [entry for entry in self.entries if entry.where == "backoff"]
        if active:
            return min(active, key=lambda entry: entry.key)
        return min(early, key=lambda entry: (entry.until, entry.key)) if early else None

    def entry_of(self, uid: str) -> ModelEntry | None:
        """The entry that a pod waits in."""
        return next((entry for entry in self.entries if any(pod.info.uid == uid for pod in entry.pods)), None)

    def group_of(self, pod: ModelPod) -> str | None:
        """The group that a pod belongs to as of now."""
        return None if pod.label in self.unknown else pod.label

    def pod(self, uid: str) -> ModelPod:
        """The pod, wherever it is."""
        pods = [*self.flying, *self.gated, *(pod for entry in self.entries for pod in entry.pods)]
        return next(pod for pod in pods if pod.info.uid == uid)

    # What happens

    def add(self, info: PodInfo) -> None:
        self._admit(ModelPod(info, self.now))

    def relabel(self, new: PodInfo) -> None:
        pod = self.pod(new.uid)
        if pod in self.flying:  # what happens to a pod before it is popped, its attempt takes into account
            for flying in self.flying:
                flying.missed.append(("label", None, new.uid))
        pod.info = new
        if pod in self.flying or self._changes_group(pod):
            return
        entry = self.entry_of(new.uid)
        if entry is None:
            self._ask(pod, AFTER_BACKOFF)
        elif entry.where == "unschedulable":
            self._judge(entry, ("label", None, new.uid))

    def delete(self, uid: str) -> None:
        self.flying = [pod for pod in self.flying if pod.info.uid != uid]
        self.gated = [pod for pod in self.gated if pod.info.uid != uid]
        for entry in self.entries:
            entry.pods = [pod for pod in entry.pods if pod.info.uid != uid]
        self.entries = [entry for entry in self.entries if entry.pods]

    def pop(self) -> list[ModelPod]:
        while (entry := self.next()) is not None and entry.group is None and self.group_of(entry.pods[0]) is not None:
            self.entries.remove(entry)
            entry.pods[0].rejections, entry.pods[0].errors = entry.rejections, entry.errors
            self._join(entry.pods[0], AT_ONCE)
            joined = self.entry_of(entry.pods[0].info.uid)
            if joined is not None and joined.where == "unschedulable":
                self._go(joined, AFTER_BACKOFF)
        if entry is None:
            return []
        self.entries.remove(entry)
        for pod in entry.pods:
            pod.attempts, pod.rejections, pod.errors = pod.attempts + 1, entry.rejections, entry.errors
            pod.missed = []
        self.flying += entry.pods
        return entry.pods

    def done(self, uid: str) -> None:
        self.delete(uid)

    def fail(self, pods: list[ModelPod], rejection: Rejection) -> None:
        by_error = rejection.error or not (rejection.unschedulable_plugins or rejection.pending_plugins)
        missed: list[tuple[str, object, str]] = []
        for pod in pods:
            if pod in self.flying:
                self.flying.remove(pod)
                missed = max(missed, pod.missed, key=len)
            pod.timestamp = self.now
            pod.rejections, pod.errors = (pod.rejections, pod.errors + 1) if by_error else (pod.rejections + 1, 0)
        for group in dict.fromkeys(self.group_of(pod) or pod for pod in pods):
            back = [group] if isinstance(group, ModelPod) else [pod for pod in pods if self.group_of(pod) == group]
            failed = ModelEntry(back, self.group_of(back[0]), self.now, back[0].rejections, back[0].errors)
            if not by_error:
                failed.unschedulable, failed.pending = rejection.unschedulable_plugins, rejection.pending_plugins
            failed.until = self._until(failed)
            decision = max([AFTER_BACKOFF if by_error else STAY, *(self._decide(failed, event) for event in missed)])
            siblings = self._siblings(failed.group)
            if siblings is not None:
                self._merge(siblings, failed, decision)
            else:
                self.entries.append(failed)
                self._go(failed, decision)

    def happen(self, kind: str, thing: object = None) -> None:
        for flying in self.flying:
            flying.missed.append((kind, thing, ""))
        for entry in [entry for entry in self.entries if entry.where == "unschedulable"]:
            self._judge(entry, (kind, thing, ""))

    def activate(self, uid: str) -> None:
        pod = self.pod(uid)
        if pod in self.flying:  # who is ready anyway is tried anyway, and nobody in flight has missed anything
            for flying in self.flying:
                flying.missed.append((WILDCARD, None, uid))
        if pod in self.gated:
            self._ask(pod, AT_ONCE)
        elif pod not in self.flying:
            self._changes_group(pod)
        entry = self.entry_of(uid)
        if entry is not None and entry.where == "unschedulable":
            self._go(entry, AT_ONCE)
        elif entry is not None:
            entry.where = "active"

    def pass_time(self, now: float) -> None:
        self.now = now
        for entry in self.entries:
            if entry.where in ("backoff", "error") and entry.until < floor(now):
                entry.where = "active"
        if now < self.next_sweep:
            return
        self.next_sweep = now + 30
        overdue = [entry for entry in self.entries if entry.where == "unschedulable" and now - entry.timestamp > 300]
        gated = [pod for pod in self.gated if now - max(pod.timestamp, self.asked.get(pod.info.uid, 0)) > 300]
        for entry in overdue:
            self._go(entry, AFTER_BACKOFF)
        for pod in gated:
            self.asked[pod.info.uid] = now
            self._ask(pod, AFTER_BACKOFF)

    # Moves

    def _changes_group(self, pod: ModelPod) -> bool:
        entry = self.entry_of(pod.info.uid)
        if self.group_of(pod) == (pod.gate if entry is None else entry.group):
            return False
        if entry is not None:
            pod.rejections, pod.errors = entry.rejections, entry.errors
        self.delete(pod.info.uid)
        self._admit(pod)
        return True

    def _siblings(self, group: str | None) -> ModelEntry | None:
        return next((entry for entry in self.entries if group is not None and entry.group == group), None)

    def _until(self, entry: ModelEntry) -> float:
        failures = entry.errors or entry.rejections
        if failures == 0:
            return float("-inf")
        return floor(entry.timestamp + min(2.0 ** (failures - 1), 10 * sqrt(len(entry.pods))))

    def _decide(self, entry: ModelEntry, event: tuple[str, object, str]) -> int:
        kind, thing, target = event
        pods = [pod for pod in entry.pods if target in ("", pod.info.uid)]
        if not pods:
            return STAY
        if kind == WILDCARD or not entry.unschedulable | entry.pending:
            return AFTER_BACKOFF
        if any(wants(plugin, pods, kind, thing) for plugin in entry.pending):
            return AT_ONCE
        return AFTER_BACKOFF if any(wants(plugin, pods, kind, thing) for plugin in entry.unschedulable) else STAY

    def _judge(self, entry: ModelEntry, event: tuple[str, object, str]) -> None:
        decision = self._decide(entry, event)
        if decision != STAY:
            self._go(entry, decision)

    def _go(self, entry: ModelEntry, decision: int) -> None:
        if decision == STAY:
            entry.where = "unschedulable"
            return
        kept_out = [pod for pod in entry.pods if pod.info.name in self.closed]
        for pod in kept_out:
            entry.pods.remove(pod)
            pod.rejections, pod.errors = entry.rejections, entry.errors
            self._gate(pod)
        if not entry.pods:
            self.entries.remove(entry)
        else:
            self._settle(entry, decision)

    def _settle(self, entry: ModelEntry, decision: int) -> None:
        waits = decision == AFTER_BACKOFF and entry.until >= floor(self.now)
        entry.where = ("error" if entry.errors else "backoff") if waits else "active"

    def _gate(self, pod: ModelPod) -> None:
        self.gated.append(pod)
        pod.gate = self.group_of(pod)
        self.asked.pop(pod.info.uid, None)

    def _ask(self, pod: ModelPod, decision: int) -> None:
        if pod.info.name not in self.closed:
            self.gated.remove(pod)
            self._join(pod, decision)

    def _admit(self, pod: ModelPod) -> None:
        if pod.info.name in self.closed:
            self._gate(pod)
        else:
            self._join(pod, AT_ONCE)

    def _join(self, pod: ModelPod, decision: int) -> None:
        siblings = self._siblings(self.group_of(pod))
        if siblings is None:
            entry = ModelEntry([pod], self.group_of(pod), pod.timestamp, pod.rejections, pod.errors)
            entry.until = self._until(entry)
            self.entries.append(entry)
            self._settle(entry, decision)
            return
        siblings.pods.append(pod)
        arrival = (UNSCHEDULED_POD_ADD.label, pod.label, "")
        if siblings.where == "unschedulable":
            self._judge(siblings, arrival)
        elif siblings.where == "backoff" and self._decide(siblings, arrival) == AT_ONCE:
            siblings.where = "active"

    def _merge(self, siblings: ModelEntry, failed: ModelEntry, decision: int) -> None:
        if siblings.where != "unschedulable":
            for pod in failed.pods:
                if pod.info.name in self.closed:
                    self._gate(pod)
                else:
                    siblings.pods.append(pod)
            if decision == AT_ONCE and failed.pods != [] and siblings.where != "active":
                siblings.where = "active"
            return
        siblings.pods += failed.pods
        rejected = bool(failed.unschedulable | failed.pending)
        siblings.unschedulable = siblings.unschedulable | failed.unschedulable if rejected else frozenset()
        siblings.pending = siblings.pending | failed.pending if rejected else frozenset()
        siblings.rejections = max(siblings.rejections, failed.rejections)
        siblings.errors, siblings.timestamp = failed.errors, failed.timestamp
        siblings.until = max(siblings.until, failed.until)
        self._go(siblings, decision)
