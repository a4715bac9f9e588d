"""When a group that was turned away is tried again.

What happens to its members and to its PodGroup the plugin sees itself, and wakes the one group that it concerns; asking
every group about every pod would cost more than scheduling them. For room on nodes there are hints: this plugin's
answers for minResources, those of the plugins that found no node for the members. Nothing is held while a group waits,
so waking one never takes away what another was promised.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from muster.framework.contract import Action, ClusterEvent, EventRegistration, Handle, Hint, Resource, Timer
from muster.framework.model.pod_info import PodInfo

from .api import group_key
from .board import Reason
from .gangs import Gangs

_GATHERING_SECONDS = 0.5
"""How often a group to which members keep coming is looked at, so that each is told what it waits for."""

_SLACK_SECONDS = 0.01
"""Timers of event loops may fire a millisecond early; what they wait for must be over then."""

_RELABELLED = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_LABEL)
_ROOM = (
    ClusterEvent(
        Resource.NODE,
        Action.ADD | Action.UPDATE_NODE_ALLOCATABLE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
    ),
    ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN),
)


class Waking:
    """Wakes groups for one profile's plugin."""

    def __init__(self, gangs: Gangs, handle: Handle) -> None:
        self._gangs = gangs
        self._handle = handle
        self._gathering: set[str] = set()
        self._setbacks: dict[str, tuple[float, Timer]] = {}

    def registrations(self) -> Sequence[EventRegistration]:
        """The events, each with its hint."""
        return EventRegistration(_RELABELLED), *(EventRegistration(event, self._room_made) for event in _ROOM)

    def member_came(self, group: str) -> None:
        """A member came that may be one too few: unless the group is tried with it before, look in a moment."""
        self._gangs.member_came(group)
        if group not in self._gathering:
            self._gathering.add(group)
            self._handle.clock.call_later(_GATHERING_SECONDS, partial(self._gathered, group))

    def first_placed(self, group: str) -> None:
        """Pod by pod, one member has a node: call its siblings, unless they failed together a moment ago."""
        if not self._gangs.is_set_back(group):
            self.activate(group)

    def after_failure(self, group: str) -> None:
        """The group was denied or failed: look again when that is over, and later the more often it failed."""
        denied = float(self._gangs.args.denied_pg_expiration_time_seconds) if self._gangs.is_denied(group) else 0.0
        self._after(group, max(denied, self._gangs.setback_seconds(group)))

    def after_backoff(self, group: str) -> None:
        """The group was set back: if a backoff is configured, look again when it is over."""
        self._after(group, float(self._gangs.args.pod_group_backoff_seconds))

    def activate(self, group: str) -> None:
        """Try the members that have no node now."""
        self._handle.activate({pod.key: pod for pod in self._gangs.members.unplaced_pods(group)})

    def _after(self, group: str, seconds: float) -> None:
        """Wake the group after a time. Of several times for one group the latest counts."""
        if not seconds:
            return
        clock = self._handle.clock
        due = clock.now() + seconds
        if group in self._setbacks:
            pending, timer = self._setbacks[group]
            if pending >= due:
                return
            timer.cancel()
        self._setbacks[group] = due, clock.call_later(seconds + _SLACK_SECONDS, partial(self._set_free, group))

    def _gathered(self, group: str) -> None:
        self._gathering.discard(group)
        if self._gangs.is_fresh(group):
            self.activate(group)

    def _set_free(self, group: str) -> None:
        del self._setbacks[group]
        if group in self._gangs.groups:
            self.activate(group)

    def _room_made(self, pod: PodInfo, old: object, new: object) -> Hint:
        """Room helps a group that was turned away for its minResources; one that is denied is woken by its time."""
        group = group_key(pod)
        verdict = self._gangs.board.get(group) if group is not None else None
        if group is None or verdict is None or verdict.reason is not Reason.NOT_ENOUGH_RESOURCES:
            return Hint.SKIP
        return Hint.SKIP if self._gangs.is_denied(group) else Hint.QUEUE
