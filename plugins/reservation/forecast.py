"""When pods without capacity start at the latest with a reservation, and which pods have to end before.

`simulate` and `why` add the plugin to every profile of a rehearsal. It records which pods were rejected for lack of
capacity, and when pods end, and asks the planner of reservations for the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from muster.framework.contract import (
    COMPOSITE_PREFIX,
    CycleState,
    DecisionFollower,
    GroupDecision,
    PodDecision,
    PodFollower,
    PodInfo,
    PostBindPlugin,
    PreemptionHandle,
    PreemptionPlugin,
    Start,
    StartForecaster,
)
from muster.framework.model.times import rfc3339

from .args import NAME
from .ends import KnownEnds
from .placement_request import PlacementRequest, wanted_by_group, wanted_by_pod
from .planning import plan_for
from .reserved_capacity import ReservedCapacity


class Forecaster(StartForecaster, PostBindPlugin, DecisionFollower, PodFollower, PreemptionPlugin):
    """The forecaster. It is a PostBind plugin that does nothing, because a plugin must extend an extension point."""

    name = f"{NAME}Forecaster"

    def __init__(self, args: None, handle: PreemptionHandle) -> None:
        super().__init__(args, handle)
        self._noted: _Noted = handle.shared(self.name, lambda: _Noted(handle))

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Does nothing."""

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Follows the ends of pods."""
        self._noted.ends.follow(old, new)

    def on_pod_decision(self, decision: PodDecision) -> None:
        """Notes the request of a single pod."""
        self._noted.decided(_Who(decision.pod.key), wanted_by_pod(decision))

    def on_group_decision(self, decision: GroupDecision) -> None:
        """Notes the request of a group, or of a tree of groups."""
        composite = decision.group.startswith(COMPOSITE_PREFIX)
        who = _Who(decision.group.removeprefix(COMPOSITE_PREFIX), group=True, composite=composite)
        self._noted.decided(who, wanted_by_group(decision))

    def starts(self) -> Sequence[Start]:
        """The starts in the order of priority, each planned beside the reservations of the previous ones."""
        return tuple(self._noted.starts())


class _Who(NamedTuple):
    """The waiting pod or group, as `Start` names it."""

    name: str
    group: bool = False
    composite: bool = False


class _Noted:
    """The last unmet request of each pod and group, as the plugins of all profiles noted it."""

    def __init__(self, handle: PreemptionHandle) -> None:
        self.ends = KnownEnds(handle.clock)
        self._handle = handle
        self._began = handle.clock.now()
        self._wanted: dict[_Who, PlacementRequest] = {}

    def decided(self, who: _Who, wanted: PlacementRequest | None) -> None:
        """Note the request of a pod or group; None if it was placed, or does not lack capacity."""
        self._wanted.pop(who, None)
        if wanted is not None:
            self._wanted[who] = wanted

    def starts(self) -> Iterator[Start]:
        """See `Forecaster.starts`."""
        handle, reserved = self._handle, list[ReservedCapacity]()
        by_priority = sorted(self._wanted.items(), key=lambda each: -max(pod.priority for pod in each[1].pods))
        for who, wanted in by_priority:
            endings = [*self.ends.later_than(self._began)]
            found = plan_for(wanted, endings, reserved, handle, now=self._began).reserved
            start = found[0].start if found else inf
            if start == inf:
                continue
            reserved += found
            nodes = {handle.snapshot.names[row] for capacity in found for row in capacity.rows.tolist()}
            before = sorted((each for each in endings if each.at <= start), key=lambda each: each.at)
            after = [each.pod.key for each in before if each.node_name in nodes]
            by = handle.clock.wall() + start - handle.clock.now()
            yield Start(who.name, who.group, rfc3339(by), after, who.composite)
