"""The engine's decisions as events, from a listener among the plugins that follow decisions.

Both recorder and replayer attach one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from cachetools import LRUCache

from muster.framework.contract import DecisionFollower
from muster.framework.scheduler.node_choice import pick_best

from .events import Decided, GroupDecided, Ranking

if TYPE_CHECKING:
    from collections.abc import Callable

    from muster.framework.contract import GroupDecision, PodDecision, PodInfo, Status
    from muster.framework.runtime.results import Scored
    from muster.framework.scheduler.engine import Engine
    from muster.framework.scheduler.node_choice import Choose
    from muster.framework.snapshot.view import Rows

    from .events import Decision


_MOST_PODS = 65_536
"""Pods whose choices are kept: also those of queries, which lead to no decision."""


class DecisionListener(DecisionFollower[None]):
    """Reports each decision of an engine."""

    name = "Recording"

    def __init__(self, engine: Engine, tell: Callable[[Decision], None]) -> None:
        self._tell = tell
        self._names = engine.cache.snapshot.names
        self._rankings: LRUCache[str, dict[str, Ranking]] = LRUCache(_MOST_PODS)
        for algorithm in engine.algorithms.values():
            algorithm.pick = self.pick
            algorithm.framework.followers.add(self)

    def pick(self, pod: PodInfo, rows: Rows, scored: Scored, choose: Choose) -> int:
        """Choose, and keep how good the node is until it is decided. As `Algorithm.pick`."""
        chosen = pick_best(pod, rows, scored, choose)
        self.keep(pod, rows, scored, chosen)
        return chosen

    def keep(self, pod: PodInfo, rows: Rows, scored: Scored, chosen: int) -> None:
        """Keep how good the node at this position is. It may be one of several choices for the pod."""
        self._rankings.setdefault(pod.uid, {})[self._names[rows[chosen]]] = ranking(scored, chosen)

    def keeps(self, pod: PodInfo, rows: Rows, position: int) -> bool:
        """Whether it is kept of a choice of the node at this position."""
        return self._names[rows[position]] in self._rankings.get(pod.uid, ())

    def on_pod_decision(self, decision: PodDecision) -> None:
        """Report the decision on a single pod. Decisions on other pods of the same step may be reported later."""
        self._tell(self._told(decision))
        self._rankings.pop(decision.pod.uid, None)

    def on_pod_released(self, decision: PodDecision) -> None:
        """A pod that lost its node again."""
        self._tell(self._told(decision, given_back=True))

    def on_group_decision(self, decision: GroupDecision) -> None:
        """A group, then each member that was tried."""
        group = f"{decision.plugin}/{decision.group}"
        code, message, _ = _why(decision.status)
        self._tell(GroupDecided(group, decision.placed, decision.missing, code, message))
        for member in decision.members:
            self._tell(self._told(member, group=group))
        self._rankings.clear()

    def _told(self, decision: PodDecision, *, group: str = "", given_back: bool = False) -> Decided:
        pod, node = decision.pod, decision.node_name
        code, message, plugin = _why(decision.status)
        return Decided(
            pod=pod.key,
            uid=pod.uid,
            node=node,
            ranking=self._rankings.get(pod.uid, {}).get(node),
            code=code,
            message=message,
            plugin=plugin,
            group=group,
            given_back=given_back,
        )


def ranking(scored: Scored, position: int) -> Ranking:
    """The rank of the node at this position."""
    total = int(scored.totals[position])
    by_plugin = {name: int(scores[position]) for name, scores in scored.by_plugin.items()}
    return Ranking(total, by_plugin, len(scored.totals), int(np.count_nonzero(scored.totals == total)))


def _why(status: Status | None) -> tuple[str, str, str]:
    return ("", "", "") if status is None else (status.code.wire_name, status.message, status.plugin)
