"""When those that find no room now start at the latest once room is reserved for them, and who has to end before.

A plugin is added to every profile of a rehearsal that notes who was refused for want of room, and when pods end. What
it noted is put to the planner of reservations. `simulate` and `why` show what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from muster.framework.contract import (
    CycleState,
    DecisionFollower,
    GroupDecision,
    Handle,
    PodDecision,
    PodFollower,
    PodInfo,
    PostBindPlugin,
)
from muster.framework.model.times import rfc3339
from muster.operator.podgroups.membership import group_key
from muster.plugins.gangscheduling.hierarchy import COMPOSITE_PREFIX, is_root
from muster.plugins.reservation.ends import KnownEnds
from muster.plugins.reservation.holds import Hold
from muster.plugins.reservation.planning import plan_for
from muster.plugins.reservation.plugin import reserves
from muster.plugins.reservation.wanted import Wanted, wanted_by_group, wanted_by_pod

_NAME = "Foreteller"
_NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Start:
    """What a reservation would promise.

    Attributes:
        waiting: the `namespace/name` of the pod, of the PodGroup, or of the CompositePodGroup.
        group: whether it is a group.
        by: when it starts at the latest, as the API writes times.
        after: the pods that have to end before, the first to end first.
        composite: whether it is a CompositePodGroup.
    """

    waiting: str
    group: bool
    by: str
    after: Sequence[str]
    composite: bool = False


class Foreteller(PostBindPlugin, DecisionFollower, PodFollower):
    """Notes who was refused for want of room, and when pods end. At the point that it extends it does nothing."""

    name = _NAME

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._noted: _Noted = handle.shared(_NAME, lambda: _Noted(handle))

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Does nothing."""

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Keeps the ends."""
        self._noted.ends.follow(old, new)

    def on_pod_decision(self, decision: PodDecision) -> None:
        """A pod by itself."""
        self._noted.decided(_Who(decision.pod.key), wanted_by_pod(decision))

    def on_group_decision(self, decision: GroupDecision) -> None:
        """A group, or a tree of groups."""
        if is_root(decision.group):
            who = _Who(decision.group.removeprefix(COMPOSITE_PREFIX), group=True, composite=True)
        else:
            who = _Who(group_key(decision.waiting[0]) or decision.group, group=True)
        self._noted.decided(who, wanted_by_group(decision))


class _Who(NamedTuple):
    """Who waits, as `Start` has it."""

    name: str
    group: bool = False
    composite: bool = False


class _Noted:
    """What the plugins of all profiles noted: the last that each pod and group wanted and did not get."""

    def __init__(self, handle: Handle) -> None:
        self.ends = KnownEnds(handle.clock)
        self._handle = handle
        self._began = handle.clock.now()
        self._wanted: dict[_Who, Wanted] = {}

    def decided(self, who: _Who, wanted: Wanted | None) -> None:
        """`wanted` is None for one that got it, or does not lack room."""
        self._wanted.pop(who, None)
        if wanted is not None:
            self._wanted[who] = wanted

    def starts(self) -> Iterator[Start]:
        """The most important first, each beside what would be reserved for those before it."""
        handle, holds = self._handle, list[Hold]()
        by_priority = sorted(self._wanted.items(), key=lambda each: -max(pod.priority for pod in each[1].pods))
        for who, wanted in by_priority:
            endings = [*self.ends.later_than(self._began)]
            found = plan_for(wanted, endings, holds, handle, self._began).holds
            start = found[0].start if found else inf
            if start == inf:
                continue
            holds += found
            nodes = {handle.snapshot.names[row] for hold in found for row in hold.rows.tolist()}
            before = sorted((each for each in endings if each.at <= start), key=lambda each: each.at)
            after = [each.pod.key for each in before if each.node_name in nodes]
            by = handle.clock.wall() + start - handle.clock.now()
            yield Start(who.name, who.group, rfc3339(by), after, who.composite)


def starts_in(shared: Mapping[str, object]) -> Sequence[Start]:
    """What can be foretold by what the plugins of an engine share; nothing where nobody's room is reserved."""
    noted = shared.get(_NAME)
    return tuple(noted.starts()) if isinstance(noted, _Noted) and reserves(shared) else ()


def told(starts: Iterable[Start]) -> Iterator[str]:
    """For people: a sentence for each."""
    for each in starts:
        kind = "composite pod group " if each.composite else "pod group " if each.group else ""
        who = f"{kind}{each.waiting}"
        more = len(each.after) - _NAMES_SHOWN
        names = ", ".join(each.after[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
        have = "has" if len(each.after) == 1 else "have"
        yield f"With room reserved for it {who} would start by {each.by} at the latest, when {names} {have} ended."
