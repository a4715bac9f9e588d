"""Whom an event helps: the plugins' event registrations as a table, and the decision that follows from it.

The queue asks for each entry that may be concerned. The rules are kube-scheduler's; nothing here changes anything.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum

from ..contract.events import ClusterEvent, EventRegistration, Hint, HintFunction
from ..model.pod_info import PodInfo
from .entry import Entry
from .inflight import Happening

log = logging.getLogger(__name__)

Registrations = Mapping[str, Mapping[str, Sequence[EventRegistration]]]
"""By profile (schedulerName) and plugin. A plugin that is absent is concerned by every event."""

Rejector = tuple[str, str]
"""A profile and the name of a plugin of it."""

_ALWAYS: tuple[HintFunction | None, ...] = (None,)


class Decision(IntEnum):
    """Where an entry goes; of several decisions the greatest counts."""

    STAY = 0
    """It goes on waiting for an event."""
    AFTER_BACKOFF = 1
    """It is tried again, once its backoff is over."""
    AT_ONCE = 2
    """It is tried again without waiting."""


class HintTable:
    """The registrations of all profiles' plugins."""

    def __init__(self, registrations: Registrations) -> None:
        self._registrations = registrations
        self._found: dict[tuple[Rejector, ClusterEvent], tuple[HintFunction | None, ...]] = {}

    def concerns(self, rejector: Rejector, event: ClusterEvent) -> bool:
        """Whether the event may help a pod that this plugin rejected."""
        return event.wildcard or bool(self._hints(rejector, event))

    def helps(self, plugin: str, pods: Collection[PodInfo], happening: Happening) -> bool:
        """Whether the plugin wants any of `pods`, which it rejected, to be tried again now."""
        for pod in pods:
            for hint in self._hints((pod.pod.spec.scheduler_name, plugin), happening.event):
                if hint is None or _says_queue(hint, pod, plugin, happening):
                    return True
        return False

    def decide(self, entry: Entry, happening: Happening) -> Decision:
        """What the event means for an entry that plugins rejected."""
        event, _, _, target = happening
        if target is not None and target not in entry.members:
            return Decision.STAY
        if event.wildcard:
            return Decision.AFTER_BACKOFF
        pods = entry.witnesses() if target is None else (entry.members[target].info,)
        if any(self.helps(plugin, pods, happening) for plugin in entry.pending_plugins):
            return Decision.AT_ONCE
        if any(self.helps(plugin, pods, happening) for plugin in entry.unschedulable_plugins):
            return Decision.AFTER_BACKOFF
        return Decision.STAY

    def decide_all(self, entry: Entry, happenings: Sequence[Happening]) -> Decision:
        """What a whole series of events means for an entry."""
        best = Decision.STAY if entry.rejectors else Decision.AFTER_BACKOFF
        highest = Decision.AT_ONCE if entry.pending_plugins else Decision.AFTER_BACKOFF
        for happening in happenings:
            if best >= highest:
                break
            best = max(best, self.decide(entry, happening))
        return best

    def _hints(self, rejector: Rejector, event: ClusterEvent) -> tuple[HintFunction | None, ...]:
        """The hints to ask; None among them stands for a plugin that wants every such event, `()` for none at all."""
        found = self._found.get((rejector, event))
        if found is None:
            found = self._found[rejector, event] = self._look_up(rejector, event)
        return found

    def _look_up(self, rejector: Rejector, event: ClusterEvent) -> tuple[HintFunction | None, ...]:
        profile, plugin = rejector
        registered = self._registrations.get(profile, {}).get(plugin)
        if registered is None:
            return _ALWAYS
        return tuple(each.hint for each in registered if each.event.wildcard or each.event.matches(event))


def _says_queue(hint: HintFunction, pod: PodInfo, plugin: str, happening: Happening) -> bool:
    event, old, new, _ = happening
    try:
        return hint(pod, old, new) is Hint.QUEUE
    except Exception:
        # A pod must not be stuck because a hint is broken.
        pairs = {"event": event.label, "plugin": plugin, "pod": pod.key}
        log.exception("QueueingHintFn returns error", extra={"pairs": pairs})
        return True
