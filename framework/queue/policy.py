"""What the queue asks of plugins, and what the administrator configures.

`scheduler.profiles` answers for the plugins of all profiles; tests supply their own answers. No answer may call the
queue. If an answer raises, is an ERROR, or has a wrong type, `GuardedPolicy` turns it into an ERROR status that names
plugin and point; the queue then keeps the pod in backoffQ and asks again. So no error of a plugin loses a pod or delays
another one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import NamedTuple, Protocol

from ..contract.plugin import QueuedPod
from ..contract.status import Code, Status, cut, text_of
from ..error_log import ErrorLog
from ..model.pod_info import PodInfo
from ..work import GivenUp, Pause, at_once
from .heaps import BackoffPolicy
from .hints import Registrations


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

    def sort_key(self, pod: QueuedPod) -> tuple[Hashable, ...] | Status:
        """The QueueSort plugin's key, smaller first. At one position all keys have numbers, or all have strings."""
        ...

    def pre_enqueue(self, pod: PodInfo, first: str) -> Status | None:
        """The first rejection by a PreEnqueue plugin, stamped with its name; None or success when the pod may enter.

        Plugin `first`, unless it is empty, is asked before the others.
        """
        ...

    def group_of(self, pod: PodInfo) -> str | Status | None:
        """`<plugin>/<id>` of the group that a pod belongs to; None for a pod by itself."""
        ...

    def has_capacity(
        self, group: str | None, pods: Collection[PodInfo], rejectors: frozenset[str], *, may_evict: bool
    ) -> bool:
        """Whether what the group lacks, or without one a pod by itself, could fit at all, before anything is tried.

        Also by evicting others, if it may. `pods` has one of each signature that waits. True also where not all plugins
        that count capacity are among the rejectors, for their events would not be heard, and where very many signatures
        wait.
        """
        ...

    def awaits_victims(self, pods: Iterable[PodInfo]) -> bool:
        """Whether pods are on their way out from nodes that one of these pods is nominated to."""
        ...

    def is_nominated_elsewhere(self, pod: PodInfo, node_name: str) -> bool:
        """Whether the pod is nominated to another node, and others are to this one."""
        ...

    def report_failure(self, pod: PodInfo, status: Status) -> None:
        """Report a pod that an error of a plugin keeps out of the queue."""
        ...


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """The administrator's settings for the queue.

    Attributes:
        backoff: initial and longest backoff.
        unschedulable_seconds: an entity that no event has helped for this long is tried all the same.
        most_at_once: plugins are asked about so many pods in one go; what concerns more is left to `settle`.
    """

    backoff: BackoffPolicy = field(default_factory=BackoffPolicy)
    unschedulable_seconds: float = 300.0
    most_at_once: int = 256


Key = tuple[Hashable, ...]


class PreEnqueueAnswer(NamedTuple):
    """The group that the pod is to wait with, and what gates it: a rejection, an ERROR, or None for nothing."""

    group: str | None
    status: Status | None


class GuardedPolicy:
    """Asks PreEnqueue, the group plugin and QueueSort, and answers for them when they fail.

    Attributes:
        asked: the policy, to be asked for what does not fail.
        unreported: pods that errors keep out, which `report_failures` is to report, by UID.
    """

    def __init__(self, policy: QueuePolicy, errors: ErrorLog) -> None:
        self.asked = policy
        self._errors = errors
        self._kinds: tuple[str, ...] | None = None
        self._kinds_of_types: dict[tuple[type, ...], tuple[str, ...]] = {}
        self.unreported: dict[str, tuple[PodInfo, Status]] = {}

    def run_pre_enqueue(self, pod: PodInfo, first: str = "") -> PreEnqueueAnswer:
        """Whether the pod may enter; the PreEnqueue plugin `first` is asked before the others."""
        try:
            group = self.asked.group_of(pod)
        except (KeyboardInterrupt, GivenUp):
            raise
        except BaseException as error:
            return PreEnqueueAnswer(None, self._failure(pod, "group_of", "", text_of(error), error=error))
        if isinstance(group, Status):
            self._log("group_of", pod, group)
            return PreEnqueueAnswer(None, group)
        try:
            status: object = self.asked.pre_enqueue(pod, first)
        except (KeyboardInterrupt, GivenUp):
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

    def group_of(self, pod: PodInfo) -> str | None:
        """The group that a waiting pod belongs to by now; None also on an error, which `run_pre_enqueue` reports."""
        try:
            group = self.asked.group_of(pod)
        except (KeyboardInterrupt, GivenUp):
            raise
        except BaseException:
            return None
        return None if isinstance(group, Status) else group

    def sort_key(self, pods: Iterable[QueuedPod], pause: Pause = at_once) -> Key | Status:
        """The smallest key of these pods, at least one. An ERROR when none has a key that can be compared."""
        found: Key | Status = Status.failure()
        for pod in pods:
            found = _smaller(found, self._key_of(pod))
            pause()
        return found

    def forget_order(self) -> None:
        """No key is in use: the next one decides what keys are made of."""
        self._kinds = None

    def keeps_out(self, pod: PodInfo, status: Status) -> None:
        """An error of a plugin keeps the pod out; `report_failures` says so."""
        self.unreported[pod.uid] = pod, status

    def report_failures(self, waits: Callable[[str], bool]) -> None:
        """Report which pods errors keep out, of those that still wait; `waits` goes by the UID."""
        unreported, self.unreported = self.unreported, {}
        for uid, (pod, status) in unreported.items():
            if waits(uid):
                self.asked.report_failure(pod, status)

    def _key_of(self, pod: QueuedPod) -> Key | Status:
        try:
            key = self.asked.sort_key(pod)
            if isinstance(key, Status):
                self._log("QueueSort", pod.info, key)
                return key
            problem = self._problem(key)
        except (KeyboardInterrupt, GivenUp):
            raise
        except BaseException as error:
            return self._failure(pod.info, "QueueSort", self.asked.sort_plugin, text_of(error), error=error)
        return key if problem is None else self._failure(pod.info, "QueueSort", self.asked.sort_plugin, problem)

    def _problem(self, key: object) -> str | None:
        """The reason why this key cannot be compared with those in use; None when it can."""
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
    """The type that elements of this type are compared as; "" for one that may not be compared at all."""
    if issubclass(element, Real):
        return "number"
    return "text" if issubclass(element, str) else ""


def _smaller(found: Key | Status, key: Key | Status) -> Key | Status:
    """The smaller of two keys; any key rather than an ERROR, and of two of these the later."""
    if isinstance(key, Status):
        return key if isinstance(found, Status) else found
    return key if isinstance(found, Status) or key < found else found
