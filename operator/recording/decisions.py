"""The engine's decisions as events, from a listener among the plugins that follow decisions.

Recorder and replayer each create one. The engine is built with its `pick` among the ports, and `follow` subscribes it
to the engine's decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from cachetools import LRUCache

from muster.framework.contract import DecisionFollower, entity_group
from muster.framework.scheduler.node_choice import pick_best

from .events import Decided, GroupDecided, Ranking

if TYPE_CHECKING:
    from collections.abc import Callable

    from muster.framework.contract import GroupDecision, PodDecision, PodInfo, Status
    from muster.framework.runtime.results import Scored
    from muster.framework.scheduler.engine import Engine
    from muster.framework.scheduler.node_choice import Choose
    from muster.framework.snapshot.view import NodeView

    from .events import Decision


_MOST_PODS = 65_536
"""The number of pods whose choices are kept, including those of queries, which lead to no decision."""


class DecisionListener(DecisionFollower[None]):
    """Reports each decision of an engine."""

    name = "Recording"

    def __init__(self, report: Callable[[Decision], None]) -> None:
        self._report = report
        self._rankings: LRUCache[str, dict[str, Ranking]] = LRUCache(_MOST_PODS)

    def follow(self, engine: Engine) -> None:
        """Report the decisions of this engine, which was built with `pick` among its ports."""
        for algorithm in engine.algorithms.values():
            algorithm.framework.followers.add(self)

    def pick(self, pod: PodInfo, nodes: NodeView, scored: Scored, choose: Choose) -> int:
        """Implement `Ports.pick`: choose a node, and keep its ranking until the decision is reported."""
        chosen = pick_best(pod, nodes, scored, choose)
        self.keep(pod, name_at(nodes, chosen), scored, chosen)
        return chosen

    def keep(self, pod: PodInfo, node: str, scored: Scored, position: int) -> None:
        """Keep the ranking of the node at this position, which may be one of several choices for the pod."""
        self._rankings.setdefault(pod.uid, {})[node] = ranking(scored, position)

    def keeps(self, pod: PodInfo, node: str) -> bool:
        """Whether a ranking of this node is kept."""
        return node in self._rankings.get(pod.uid, ())

    def on_pod_decision(self, decision: PodDecision) -> None:
        """Report the decision on a single pod. Decisions on other pods of the same step may be reported later."""
        self._report(self._decided(decision))
        self._rankings.pop(decision.pod.uid, None)

    def on_pod_released(self, decision: PodDecision) -> None:
        """Report that a pod lost its node."""
        self._report(self._decided(decision, given_back=True))

    def on_group_decision(self, decision: GroupDecision) -> None:
        """Report a group, then each member that was tried."""
        group = entity_group(decision.plugin, decision.group)
        code, message, _ = _why(decision.status)
        self._report(GroupDecided(group, decision.placed, decision.missing, code, message))
        for member in decision.members:
            self._report(self._decided(member, group=group))
        self._rankings.clear()

    def _decided(self, decision: PodDecision, *, group: str = "", given_back: bool = False) -> Decided:
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


def name_at(nodes: NodeView, position: int) -> str:
    """The name of the node at this position."""
    return nodes.snapshot.names[int(nodes.indices()[position])]


def ranking(scored: Scored, position: int) -> Ranking:
    """The rank of the node at this position."""
    total = int(scored.totals[position])
    by_plugin = {name: int(scores[position]) for name, scores in scored.by_plugin.items()}
    return Ranking(total, by_plugin, len(scored.totals), int(np.count_nonzero(scored.totals == total)))


def _why(status: Status | None) -> tuple[str, str, str]:
    return ("", "", "") if status is None else (status.code.wire_name, status.message, status.plugin)
