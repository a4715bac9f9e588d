"""The queue's calls of plugins, and the administrator's settings.

`scheduler.profiles` implements the calls for the plugins of all profiles; tests supply their own. No plugin may call
the queue meanwhile. If a plugin raises, answers an ERROR, or answers a wrong type, `GuardedPolicy` turns this into an
ERROR status that names plugin and point; the queue then keeps the pod in backoffQ and calls the plugin again. So no
error of a plugin loses a pod or delays another one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from math import floor, sqrt
from numbers import Real
from typing import NamedTuple, Protocol

from ..contract.plugin import QueuedPod
from ..contract.status import Code, Status, cut, text_of
from ..error_log import ErrorLog
from ..model.pod_info import PodInfo
from ..work import Aborted, Pause, at_once
from .entity import NO_BACKOFF, QueuedEntity
from .hints import Registrations

_NO_KEY = Status.failure()
_MOST_DOUBLINGS = 62
_JITTER = 0.5


class QueuePolicy(Protocol):
    """The answers of the profiles' plugins about pods and groups, and the known capacity for them."""

    @property
    def sort_plugin(self) -> str:
        """The name of the QueueSort plugin."""
        ...

    @property
    def registrations(self) -> Registrations:
        """The events that may help pods, with the plugins that registered them."""
        ...

    @property
    def signature_plugins(self) -> Mapping[str, frozenset[str]]:
        """By profile, the plugins whose rejections depend only on the pod's signature and the cluster."""
        ...

    @property
    def class_plugins(self) -> Mapping[str, frozenset[str]]:
        """By profile, the plugins whose rejections depend only on the pod's equivalence class and the cluster."""
        ...

    @property
    def divides_namespaces(self) -> bool:
        """Whether equal pods of different namespaces may have different turns, or may evict different pods."""
        ...

    def sort_key(self, pod: QueuedPod) -> tuple[Hashable, ...] | Status:
        """The QueueSort plugin's key, smaller first. At each position, all keys have numbers or all have strings."""
        ...

    def run_pre_enqueue(self, pod: PodInfo, first: str) -> Status | None:
        """The first rejection by a PreEnqueue plugin, with the plugin's name; None or success if the pod may enter.

        Plugin `first`, unless it is empty, is called before the others.
        """
        ...

    def entity_group(self, pod: PodInfo) -> str | Status | None:
        """`<plugin>/<id>` of the group with which a pod is queued; None for a pod that is queued alone.

        The first group plugin whose `group_of` claims the pod decides. An ERROR if a plugin fails.
        """
        ...

    def has_capacity(
        self, group: str | None, pods: Collection[PodInfo], rejectors: frozenset[str], *, may_evict: bool
    ) -> bool:
        """Whether the nodes have the capacity that the group lacks, or that a single pod needs, before any trial.

        With `may_evict`, capacity that evictions could free counts too. `pods` has one waiting pod of each signature.
        True also if a plugin that counts capacity is not among the rejectors, because their events would not wake the
        pods, and if very many signatures wait.
        """
        ...

    def awaits_victims(self, pods: Iterable[PodInfo]) -> bool:
        """Whether pods are terminating on a node to which one of these pods is nominated."""
        ...

    def is_nominated_elsewhere(self, pod: PodInfo, node_name: str) -> bool:
        """Whether the pod is nominated to another node, and other pods are nominated to this one."""
        ...

    def report_failure(self, pod: PodInfo, status: Status) -> None:
        """Report a pod that cannot enter the queue because a plugin failed."""
        ...


@dataclass(frozen=True, slots=True)
class BackoffPolicy:
    """`podInitialBackoffSeconds` and `podMaxBackoffSeconds`. A maximum of 0 switches backoff off.

    After an error, backoff is up to half as long again, by `jitter`, a number in [0, 1): when the API fails, it fails
    for thousands of pods at once, which must not all be retried at once.
    """

    initial_seconds: float = 1.0
    max_seconds: float = 10.0
    jitter: Callable[[], float] = lambda: 0.0

    def seconds(self, failures: int, pods: int = 1) -> float:
        """The backoff, in seconds, of an entity with `pods` pods after `failures` (`calculateBackoffDuration`).

        Backoff doubles with each failure up to the maximum, which grows with the square root of a group's size.
        """
        if failures == 0:
            return 0.0
        limit = self.max_seconds * sqrt(pods)
        return min(self.initial_seconds * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), limit)

    def until(self, entity: QueuedEntity) -> float:
        """Start of the window in which the entity's backoff ends, in whole seconds on the engine's clock.

        `NO_BACKOFF` if the entity does not back off.
        """
        failures = entity.failures
        if self.max_seconds == 0 or failures == 0:
            return NO_BACKOFF
        seconds = self.seconds(failures, len(entity.pods))
        if entity.consecutive_errors:
            seconds *= 1.0 + _JITTER * self.jitter()
        return float(floor(entity.timestamp + seconds))


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """The administrator's settings for the queue.

    Attributes:
        backoff: initial and maximal backoff.
        unschedulable_seconds: the time after which an entity is retried although no event has helped it.
        most_at_once: the number of pods for which plugins are called at once; `settle` moves larger entities in slices.
    """

    backoff: BackoffPolicy = field(default_factory=BackoffPolicy)
    unschedulable_seconds: float = 300.0
    most_at_once: int = 256


Key = tuple[Hashable, ...]


class PreEnqueueAnswer(NamedTuple):
    """The group with which the pod waits, and the rejection or ERROR that gates the pod; None if it may enter."""

    group: str | None
    status: Status | None


class GuardedPolicy:
    """Calls PreEnqueue, the group plugin and QueueSort, and turns their failures into ERROR statuses.

    Attributes:
        unguarded: the policy itself, for calls that cannot fail.
        unreported: by UID, pods that cannot enter because a plugin failed, until `report_failures` reports them.
    """

    def __init__(self, policy: QueuePolicy, errors: ErrorLog) -> None:
        self.unguarded = policy
        self._errors = errors
        self._kinds: tuple[str, ...] | None = None
        self._kinds_of_types: dict[tuple[type, ...], tuple[str, ...]] = {}
        self.unreported: dict[str, tuple[PodInfo, Status]] = {}

    def run_pre_enqueue(self, pod: PodInfo, first: str = "") -> PreEnqueueAnswer:
        """Whether the pod may enter; the PreEnqueue plugin `first` is called before the others."""
        try:
            group = self.unguarded.entity_group(pod)
        except (KeyboardInterrupt, Aborted):
            raise
        except BaseException as error:
            return PreEnqueueAnswer(None, self._failure(pod, "group_of", "", text_of(error), error=error))
        if isinstance(group, Status):
            self._log("group_of", pod, group)
            return PreEnqueueAnswer(None, group)
        try:
            status: object = self.unguarded.run_pre_enqueue(pod, first)
        except (KeyboardInterrupt, Aborted):
            raise
        except BaseException as error:
            return PreEnqueueAnswer(group, self._failure(pod, "PreEnqueue", "", text_of(error), error=error))
        if status is None or (isinstance(status, Status) and status.code is Code.SUCCESS):
            return PreEnqueueAnswer(group, None)
        if not isinstance(status, Status):
            text = f"answered {type(status).__name__} instead of a Status"
            return PreEnqueueAnswer(group, self._failure(pod, "PreEnqueue", "", text))
        if status.code is Code.ERROR:
            self._log("PreEnqueue", pod, status)
        return PreEnqueueAnswer(group, status)

    def entity_group(self, pod: PodInfo) -> str | None:
        """The group with which a pod is now queued; None also on an error, which `run_pre_enqueue` reports."""
        try:
            group = self.unguarded.entity_group(pod)
        except (KeyboardInterrupt, Aborted):
            raise
        except BaseException:
            return None
        return None if isinstance(group, Status) else group

    def lacks_capacity(self, entity: QueuedEntity) -> bool:
        """Whether an attempt would fail because the nodes do not have the capacity that the entity needs."""
        may_evict = entity.group is None or not self.unguarded.awaits_victims(entity.all_pods())
        return not self.unguarded.has_capacity(
            entity.group, entity.one_per_signature(), entity.rejectors, may_evict=may_evict
        )

    def sort_key(self, pods: Iterable[QueuedPod], pause: Pause = at_once) -> Key | Status:
        """The smallest key of these pods, of which there is at least one; an ERROR if none has a comparable key."""
        found: Key | Status = _NO_KEY
        for pod in pods:
            found = _smaller(found, self._key_of(pod))
            pause()
        return found

    def forget_order(self) -> None:
        """Forget the types of keys, because no key is in use: the next key determines them."""
        self._kinds = None

    def note_entry_failure(self, pod: PodInfo, status: Status) -> None:
        """Note that the pod cannot enter because a plugin failed; `report_failures` reports it."""
        self.unreported[pod.uid] = pod, status

    def report_failures(self, waits: Callable[[str], bool]) -> None:
        """Report the pods that cannot enter because a plugin failed, if they still wait; `waits` takes a UID."""
        unreported, self.unreported = self.unreported, {}
        for uid, (pod, status) in unreported.items():
            if waits(uid):
                self.unguarded.report_failure(pod, status)

    def _key_of(self, pod: QueuedPod) -> Key | Status:
        try:
            key = self.unguarded.sort_key(pod)
            if isinstance(key, Status):
                self._log("QueueSort", pod.info, key)
                return key
            problem = self._problem(key)
        except (KeyboardInterrupt, Aborted):
            raise
        except BaseException as error:
            return self._failure(pod.info, "QueueSort", self.unguarded.sort_plugin, text_of(error), error=error)
        return key if problem is None else self._failure(pod.info, "QueueSort", self.unguarded.sort_plugin, problem)

    def _problem(self, key: object) -> str | None:
        """The reason why this key cannot be compared with those in use; None if it can."""
        if not isinstance(key, tuple):
            return f"answered {type(key).__name__} instead of a tuple"
        types = tuple(map(type, key))
        kinds = self._kinds_of_types.get(types)
        if kinds is None:
            kinds = self._kinds_of_types[types] = tuple(map(_kind, types))
        if self._kinds is None and all(kinds):
            self._kinds = kinds
        if kinds != self._kinds:
            return f"the sort key {key} cannot be compared with those of other pods"
        for value in key:
            if value != value:
                return f"the sort key {key} has no order"
        return None

    def _failure(
        self, pod: PodInfo, point: str, plugin: str, text: str, *, error: BaseException | None = None
    ) -> Status:
        named = f'running {point} plugin "{plugin}"' if plugin else f"running {point} plugins"
        status = Status(Code.ERROR, (f"{named}: {cut(text)}",), plugin)
        self._log(point, pod, status, error)
        return status

    def _log(self, point: str, pod: PodInfo, status: Status, error: BaseException | None = None) -> None:
        pairs = {"pod": pod.key, "plugin": status.plugin, "reason": status.message}
        cause, error = (status.plugin, point), error or status.error
        self._errors.error("A plugin failed at queue entry", cause=cause, error=error, pairs=pairs)


def _kind(element: type) -> str:
    """The kind as which elements of this type are compared; "" for a type that is not allowed in keys."""
    if issubclass(element, Real):
        return "number"
    return "text" if issubclass(element, str) else ""


def _smaller(found: Key | Status, key: Key | Status) -> Key | Status:
    """The smaller of two keys; the key if the other one is an ERROR; the later of two ERRORs."""
    if isinstance(key, Status):
        return key if isinstance(found, Status) else found
    return key if isinstance(found, Status) or key < found else found
