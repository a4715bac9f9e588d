"""Which entities an event helps, and how soon it retries them.

Plugins register for events, with hints; an entity's strategy follows from the hints of the plugins that rejected it
(kube-scheduler's rules, `isPodWorthRequeuing`). `Moves` and `Batching` ask when an event occurs, `SchedulingQueue` when
a pod returns that has missed events (`in_flight`). Nothing here changes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple, Protocol

from ..contract.events import Action, ClusterEvent, EventRegistration, EventResource, Hint, HintFunction
from ..error_log import ErrorLog
from ..model.pod_info import PodInfo, PodSignature
from ..work import Aborted, checkpoint
from .entity import QueuedEntity, Rejection

Registrations = Mapping[str, Mapping[str, Sequence[EventRegistration]]]
"""By profile (schedulerName) and plugin. A plugin without an entry is woken by every event. But events during an
attempt are recorded only if some plugin registered for them.
"""


class Registered(Protocol):
    """A registry of event registrations, read at each event."""

    @property
    def registrations(self) -> Registrations:
        """All of them."""
        ...


Rejector = tuple[str, str]
"""The name of a profile, and of a plugin in it."""

_ALWAYS = (EventRegistration(ClusterEvent(EventResource.WILDCARD, Action.ALL)),)


class QueueingStrategy(IntEnum):
    """When an event retries an entity (kube-scheduler's `queueingStrategy`); of several, the greatest counts."""

    SKIP = 0
    """The entity keeps waiting for an event."""
    AFTER_BACKOFF = 1
    """The entity is retried when its backoff is over."""
    IMMEDIATELY = 2
    """The entity is retried at once."""


class Asked(NamedTuple):
    """A registration of a plugin that rejected a pod, and the strategy that follows if its hint answers QUEUE."""

    strategy: QueueingStrategy
    plugin: str
    registration: EventRegistration


@dataclass(slots=True, eq=False)
class ObjectEvent:
    """A cluster event with its object (kube-scheduler's `clusterEvent`).

    Attributes:
        event: what happened.
        old: the object before; None for an add.
        new: the object after; None for a delete.
        target: the UID of the only pod that it concerns; None if it concerns all.
        answers: the answers of hints that depend only on the pod's signature.
        asked: the registrations to ask, by profile and rejection.
    """

    event: ClusterEvent
    old: object
    new: object
    target: str | None = None
    answers: dict[tuple[HintFunction, PodSignature], bool] = field(default_factory=dict)
    asked: dict[tuple[str, frozenset[str], frozenset[str]], Sequence[Asked]] = field(default_factory=dict)


class InFlightEvents(NamedTuple):
    """Events of one kind that occurred while pods were in flight, in order. They concern the pod `target`, or all."""

    kind: ClusterEvent
    target: str | None
    events: Sequence[ObjectEvent]


class QueueingHints:
    """The registrations of all profiles' plugins (kube-scheduler's `QueueingHintMapPerProfile`)."""

    def __init__(self, registered: Registered, errors: ErrorLog) -> None:
        self._all = registered
        self._errors = errors
        self._found: dict[tuple[Rejector, ClusterEvent], tuple[EventRegistration, ...]] = {}
        self._of_interest: dict[ClusterEvent, bool] = {}

    def of_interest(self, event: ClusterEvent) -> bool:
        """Whether any plugin registered for the event."""
        known = self._of_interest.get(event)
        if known is None:
            registrations = self._all.registrations
            rejectors = [(profile, plugin) for profile, plugins in registrations.items() for plugin in plugins]
            known = event.wildcard or any(self.concerns(rejector, event) for rejector in rejectors)
            self._of_interest[event] = known
        return known

    def concerns(self, rejector: Rejector, event: ClusterEvent, *, gated: bool = False) -> bool:
        """Whether the event may help a pod that this plugin rejected, or with `gated`, that it gates."""
        if event.wildcard:
            return True
        registered = self._registered(rejector, event)
        return any(each.of_gated for each in registered) if gated else bool(registered)

    def concerning(self, profiles: Iterable[str], rejection: Rejection) -> Callable[[ClusterEvent], bool]:
        """A predicate: whether an event may help pods of these profiles that return with this rejection."""
        plugins = () if rejection.by_error else rejection.unschedulable_plugins | rejection.pending_plugins
        rejectors = [(profile, plugin) for profile in profiles for plugin in plugins]
        return lambda event: any(self.concerns(rejector, event) for rejector in rejectors)

    def strategy(self, entity: QueuedEntity, event: ObjectEvent) -> QueueingStrategy:
        """The effect of an event on an entity that plugins rejected or gate.

        Called at each event for every pod that waits for it, so a single pod takes no more than its hints.
        """
        if len(entity.pods) > 1 or event.event.wildcard or not entity.rejectors:
            return self.strategy_after(entity, (InFlightEvents(event.event, event.target, (event,)),))
        [(uid, pod)] = entity.pods.items()
        if event.target is None or event.target == uid:
            for strategy, plugin, registration in self._asked(entity, event):
                if self._says_queue(registration, pod.info, plugin, event):
                    return strategy
        return QueueingStrategy.SKIP

    def strategy_after(self, entity: QueuedEntity, missed: Iterable[InFlightEvents]) -> QueueingStrategy:
        """The effect of a series of events on an entity. After an error, an entity is retried after backoff anyway."""
        if not entity.rejectors:
            return QueueingStrategy.AFTER_BACKOFF
        mine = [each for each in missed if each.target is None or each.target in entity.pods]
        if not mine:
            return QueueingStrategy.SKIP
        if any(self._helps(plugin, entity, each) for plugin in _in_order(entity.pending_plugins) for each in mine):
            return QueueingStrategy.IMMEDIATELY
        if any(each.kind.wildcard for each in mine):
            return QueueingStrategy.AFTER_BACKOFF
        unschedulable_plugins = _in_order(entity.unschedulable_plugins)
        if any(self._helps(plugin, entity, each) for plugin in unschedulable_plugins for each in mine):
            return QueueingStrategy.AFTER_BACKOFF
        return QueueingStrategy.SKIP

    def needs_each_member(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Whether `strategy` calls a hint for each pod of the entity."""
        return event.target is None and any(
            self._by_pod(registration)
            for plugin in entity.rejectors
            for pod in entity.one_per_signature()
            for registration in self._registered_for(pod, plugin, event.event)
        )

    def _by_pod(self, registration: EventRegistration) -> bool:
        return registration.hint is not None and not (registration.by_signature or registration.by_group)

    def _helps(self, plugin: str, entity: QueuedEntity, events: InFlightEvents) -> bool:
        """Whether a hint of the plugin answers QUEUE for any pod; called once for pods whose answers are the same."""
        kind, target, _ = events
        if kind.wildcard:
            return False
        if target is not None:
            pod = entity.pods[target].info
            registered = self._registered_for(pod, plugin, kind)
            return any(self._any_says_queue(each, pod, plugin, events) for each in registered)
        one_by_one: set[str] = set()
        for position, pod in enumerate(entity.one_per_signature()):
            for registration in self._registered_for(pod, plugin, kind):
                if registration.hint is None or registration.by_signature or (registration.by_group and not position):
                    if self._any_says_queue(registration, pod, plugin, events):
                        return True
                elif not registration.by_group:
                    one_by_one.add(pod.pod.spec.scheduler_name)
        if not one_by_one:
            return False
        return any(
            self._any_says_queue(registration, pod, plugin, events)
            for pod in entity.all_pods()
            for registration in self._registered_for(pod, plugin, kind)
            if self._by_pod(registration)
        )

    def _asked(self, entity: QueuedEntity, event: ObjectEvent) -> Sequence[Asked]:
        """The registrations for the event of the plugins that rejected the entity, pending ones first."""
        rejection = entity.profile, entity.pending_plugins, entity.unschedulable_plugins
        asked = event.asked.get(rejection)
        if asked is None:
            profile, pending, unschedulable = rejection
            asked = event.asked[rejection] = [
                Asked(strategy, plugin, registration)
                for strategy, plugins in (
                    (QueueingStrategy.IMMEDIATELY, pending),
                    (QueueingStrategy.AFTER_BACKOFF, unschedulable),
                )
                for plugin in _in_order(plugins)
                for registration in self._registered((profile, plugin), event.event)
            ]
        return asked

    def _registered_for(self, pod: PodInfo, plugin: str, kind: ClusterEvent) -> tuple[EventRegistration, ...]:
        return self._registered((pod.pod.spec.scheduler_name, plugin), kind)

    def _registered(self, rejector: Rejector, event: ClusterEvent) -> tuple[EventRegistration, ...]:
        """The plugin's registrations for the event; `()` for none."""
        found = self._found.get((rejector, event))
        if found is None:
            found = self._found[rejector, event] = self._look_up(rejector, event)
        return found

    def _look_up(self, rejector: Rejector, event: ClusterEvent) -> tuple[EventRegistration, ...]:
        profile, plugin = rejector
        registered = self._all.registrations.get(profile, {}).get(plugin)
        if registered is None:
            return _ALWAYS
        return tuple(each for each in registered if each.event.wildcard or each.event.matches(event))

    def _any_says_queue(
        self, registration: EventRegistration, pod: PodInfo, plugin: str, events: InFlightEvents
    ) -> bool:
        return any(self._says_queue(registration, pod, plugin, event) for event in events.events)

    def _says_queue(self, registration: EventRegistration, pod: PodInfo, plugin: str, event: ObjectEvent) -> bool:
        """Whether the hint answers QUEUE to the event."""
        hint = registration.hint
        if hint is None:
            return True
        if not registration.by_signature:
            return self._ask(hint, pod, plugin, event)
        answer = event.answers.get((hint, pod.signature))
        if answer is None:
            answer = event.answers[hint, pod.signature] = self._ask(hint, pod, plugin, event)
        return answer

    def _ask(self, hint: HintFunction, pod: PodInfo, plugin: str, event: ObjectEvent) -> bool:
        checkpoint()
        try:
            return hint(pod, event.old, event.new) is not Hint.SKIP
        except (KeyboardInterrupt, Aborted):
            raise
        except BaseException as error:  # a pod must not be stuck because a hint is broken
            label = event.event.label
            pairs = {"event": label, "plugin": plugin, "pod": pod.key}
            self._errors.error("QueueingHintFn returns error", cause=(plugin, label), error=error, pairs=pairs)
            return True


@lru_cache(maxsize=1024)
def _in_order(plugins: frozenset[str]) -> tuple[str, ...]:
    """The plugins sorted by name, so that hints are called in the same order in every process."""
    return tuple(sorted(plugins))
