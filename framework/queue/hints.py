"""Whom an event helps: the plugins' event registrations as a table, and the decision that follows from it.

The queue asks for each entry that may be concerned. The rules are kube-scheduler's; nothing here changes anything.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum

from ..contract.events import Action, ClusterEvent, EventRegistration, EventResource, Hint, HintFunction
from ..model.pod_info import PodInfo
from .entry import Entry
from .inflight import Happening, Missed

log = logging.getLogger(__name__)

Registrations = Mapping[str, Mapping[str, Sequence[EventRegistration]]]
"""By profile (schedulerName) and plugin. A plugin that is absent is concerned by every event while its pods wait; of
what happens while they are in flight only what somebody registered for is known."""

Rejector = tuple[str, str]
"""A profile and the name of a plugin of it."""

_ALWAYS = (EventRegistration(ClusterEvent(EventResource.WILDCARD, Action.ALL)),)


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
        self._found: dict[tuple[Rejector, ClusterEvent], tuple[EventRegistration, ...]] = {}
        self._of_interest: dict[ClusterEvent, bool] = {}

    def of_interest(self, event: ClusterEvent) -> bool:
        """Whether any plugin registered for the event."""
        known = self._of_interest.get(event)
        if known is None:
            rejectors = [(profile, plugin) for profile, plugins in self._registrations.items() for plugin in plugins]
            known = event.wildcard or any(self.concerns(rejector, event) for rejector in rejectors)
            self._of_interest[event] = known
        return known

    def concerns(self, rejector: Rejector, event: ClusterEvent) -> bool:
        """Whether the event may help a pod that this plugin rejected."""
        return event.wildcard or bool(self._registered(rejector, event))

    def helps(self, plugin: str, pods: Collection[PodInfo], happening: Happening) -> bool:
        """Whether the plugin wants any of `pods`, which it rejected, to be tried again now."""
        return self._any_helps(plugin, pods, happening.event, (happening,))

    def decide(self, entry: Entry, happening: Happening) -> Decision:
        """What the event means for an entry that plugins rejected."""
        event, target = happening.event, happening.target
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

    def decide_all(self, entry: Entry, missed: Sequence[Missed]) -> Decision:
        """What a whole series of events means for an entry."""
        if not entry.rejectors:
            return Decision.AFTER_BACKOFF
        mine = [each for each in missed if each.target is None or each.target in entry.members]
        if any(self._any_missed_helps(plugin, entry, mine) for plugin in entry.pending_plugins):
            return Decision.AT_ONCE
        if any(each.event.wildcard for each in mine):
            return Decision.AFTER_BACKOFF
        if any(self._any_missed_helps(plugin, entry, mine) for plugin in entry.unschedulable_plugins):
            return Decision.AFTER_BACKOFF
        return Decision.STAY

    def _any_missed_helps(self, plugin: str, entry: Entry, missed: Sequence[Missed]) -> bool:
        for event, target, happenings in missed:
            if not event.wildcard:
                pods = entry.witnesses() if target is None else (entry.members[target].info,)
                if self._any_helps(plugin, pods, event, happenings):
                    return True
        return False

    def _any_helps(
        self, plugin: str, pods: Collection[PodInfo], event: ClusterEvent, happenings: Sequence[Happening]
    ) -> bool:
        """Whether the plugin says of any pod that one of these, all of one kind, helps it."""
        for pod in pods:
            for registration in self._registered((pod.pod.spec.scheduler_name, plugin), event):
                if any(_says_queue(registration, pod, plugin, happening) for happening in happenings):
                    return True
        return False

    def _registered(self, rejector: Rejector, event: ClusterEvent) -> tuple[EventRegistration, ...]:
        """What the plugin registered of it; `()` for nothing."""
        found = self._found.get((rejector, event))
        if found is None:
            found = self._found[rejector, event] = self._look_up(rejector, event)
        return found

    def _look_up(self, rejector: Rejector, event: ClusterEvent) -> tuple[EventRegistration, ...]:
        profile, plugin = rejector
        registered = self._registrations.get(profile, {}).get(plugin)
        if registered is None:
            return _ALWAYS
        return tuple(each for each in registered if each.event.wildcard or each.event.matches(event))


def _says_queue(registration: EventRegistration, pod: PodInfo, plugin: str, happening: Happening) -> bool:
    hint = registration.hint
    if hint is None:
        return True
    if not registration.by_signature:
        return _ask(hint, pod, plugin, happening)
    said = happening.said.get((hint, pod.signature))
    if said is None:
        said = happening.said[hint, pod.signature] = _ask(hint, pod, plugin, happening)
    return said


def _ask(hint: HintFunction, pod: PodInfo, plugin: str, happening: Happening) -> bool:
    try:
        return hint(pod, happening.old, happening.new) is Hint.QUEUE
    except Exception:
        # A pod must not be stuck because a hint is broken.
        pairs = {"event": happening.event.label, "plugin": plugin, "pod": pod.key}
        log.exception("QueueingHintFn returns error", extra={"pairs": pairs})
        return True
