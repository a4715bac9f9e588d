"""What plugins say about a pod that is about to enter activeQ or backoffQ: may it, with which group, and in what order.

Every call is guarded: an exception, or an answer of a wrong type, becomes an ERROR status that names plugin and point.
The queue then keeps the pod in backoffQ and asks again, so no error of a plugin loses a pod or stops another.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from numbers import Real
from typing import NamedTuple

from ..contract.plugin import QueuedPod
from ..contract.status import Code, Status, cut, text_of
from ..model.pod_info import PodInfo
from ..work import GivenUp, Pause, at_once
from .hints import ErrorLog
from .policy import QueuePolicy

Key = tuple[Hashable, ...]


class Answer(NamedTuple):
    """The group that the pod is to wait with, and what keeps it out: a rejection, an ERROR, or None for nothing."""

    group: str | None
    status: Status | None


class Admission:
    """Asks PreEnqueue, the group plugin and QueueSort."""

    def __init__(self, policy: QueuePolicy, errors: ErrorLog) -> None:
        self._policy = policy
        self._errors = errors
        self._kinds: tuple[str, ...] | None = None
        self._kinds_of_types: dict[tuple[type, ...], tuple[str, ...]] = {}
        self._untold: dict[str, tuple[PodInfo, Status]] = {}

    def ask(self, pod: PodInfo, first: str = "") -> Answer:
        """Whether the pod may enter; the PreEnqueue plugin `first` is asked before the others."""
        try:
            group = self._policy.group_of(pod)
        except (KeyboardInterrupt, GivenUp):
            raise
        except BaseException as error:
            return Answer(None, self._failure(pod, "group_of", "", text_of(error), error))
        if isinstance(group, Status):
            self._log("group_of", pod, group)
            return Answer(None, group)
        try:
            status: object = self._policy.pre_enqueue(pod, first)
        except (KeyboardInterrupt, GivenUp):
            raise
        except BaseException as error:
            return Answer(group, self._failure(pod, "PreEnqueue", "", text_of(error), error))
        if status is None or (isinstance(status, Status) and status.code is Code.SUCCESS):
            return Answer(group, None)
        if not isinstance(status, Status):
            text = f"answered {type(status).__name__} instead of a Status"
            return Answer(group, self._failure(pod, "PreEnqueue", "", text))
        if status.code is Code.ERROR:
            self._log("PreEnqueue", pod, status)
        return Answer(group, status)

    def group_of(self, pod: PodInfo) -> str | None:
        """The group that a waiting pod belongs to by now; an error, which `ask` tells, leaves the pod by itself."""
        try:
            group = self._policy.group_of(pod)
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

    def failed(self, pod: PodInfo, status: Status) -> None:
        """An error keeps the pod out; `tell` says so."""
        self._untold[pod.uid] = pod, status

    def tell(self, waits: Callable[[str], bool]) -> None:
        """Say which pods errors keep out, of those that still wait; `waits` goes by the UID."""
        untold, self._untold = self._untold, {}
        for uid, (pod, status) in untold.items():
            if waits(uid):
                self._policy.kept_out(pod, status)

    def _key_of(self, pod: QueuedPod) -> Key | Status:
        try:
            key = self._policy.sort_key(pod)
            if isinstance(key, Status):
                self._log("QueueSort", pod.info, key)
                return key
            problem = self._problem(key)
        except (KeyboardInterrupt, GivenUp):
            raise
        except BaseException as error:
            return self._failure(pod.info, "QueueSort", self._policy.sort_plugin, text_of(error), error)
        return key if problem is None else self._failure(pod.info, "QueueSort", self._policy.sort_plugin, problem)

    def _problem(self, key: object) -> str | None:
        """Why this key cannot be compared with those in use; None when it can."""
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
        if any(value != value for value in key):
            return f"the sort key {key} has no order"
        return None

    def _failure(self, pod: PodInfo, point: str, plugin: str, text: str, error: BaseException | None = None) -> Status:
        named = f'running {point} plugin "{plugin}"' if plugin else f"running {point} plugins"
        status = Status(Code.ERROR, (f"{named}: {cut(text)}",), plugin)
        self._log(point, pod, status, error)
        return status

    def _log(self, point: str, pod: PodInfo, status: Status, error: BaseException | None = None) -> None:
        pairs = {"pod": pod.key, "plugin": status.plugin, "reason": status.message}
        cause, error = (status.plugin, point), error or status.error
        self._errors.error("A plugin failed at queue entry", cause=cause, error=error, pairs=pairs)


def _kind(element: type) -> str:
    """What elements of this type are compared as; "" for what may not be compared at all."""
    if issubclass(element, Real):
        return "number"
    return "text" if issubclass(element, str) else ""


def _smaller(found: Key | Status, key: Key | Status) -> Key | Status:
    """The smaller of two keys; any key rather than an ERROR, and of two of these the later."""
    if isinstance(key, Status):
        return key if isinstance(found, Status) else found
    return key if isinstance(found, Status) or key < found else found
