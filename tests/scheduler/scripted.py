"""Plugins that give the answers that a test sets, and record that they were called."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from muster.framework.contract import (
    BindPlugin,
    CycleState,
    DependsOn,
    Diagnosis,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
    Status,
    StatusTable,
    Verdicts,
    Wait,
)
from muster.framework.contract.plugin import Scores
from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.view import NodeView

Log = list[str]


def pre_filtering(name: str, answer: PreFilterResult | Status | None, log: Log | None = None) -> type[Plugin]:
    """A PreFilter with one answer."""

    class Scripted(PreFilterPlugin):
        def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult | Status | None:
            _note(log, f"{name} pre-filters {','.join(nodes.names())}")
            return answer

    return _named(Scripted, name)


def filtering(
    name: str, rejects: Mapping[str, Status], log: Log | None = None, *, depends_on: DependsOn = DependsOn.CLUSTER
) -> type[Plugin]:
    """A Filter that turns pods away from the nodes named."""

    class Scripted(FilterPlugin):
        filter_depends_on = depends_on
        table = StatusTable(rejects.values())

        def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
            _note(log, f"{name} filters {','.join(nodes.names())}")
            codes = [self.table.number(rejects[node]) if node in rejects else 0 for node in nodes.names()]
            return Verdicts(np.array(codes, np.int32), self.table)

    return _named(Scripted, name)


def both_filtering(name: str, answer: PreFilterResult | Status | None, log: Log) -> type[Plugin]:
    """A PreFilter with one answer, whose Filter lets everything pass."""

    class Scripted(PreFilterPlugin, FilterPlugin):
        def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult | Status | None:
            return answer

        def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
            _note(log, f"{name} filters {','.join(nodes.names())}")
            return Verdicts.all_pass(len(nodes), StatusTable())

    return _named(Scripted, name)


def post_filtering(name: str, nominated: str | None, status: Status | None, log: Log | None = None) -> type[Plugin]:
    """A PostFilter with one answer."""

    class Scripted(PostFilterPlugin):
        def post_filter(
            self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
        ) -> tuple[str | None, Status | None]:
            _note(log, f"{name} post-filters")
            return nominated, status

    return _named(Scripted, name)


def scoring(
    name: str,
    scores: Mapping[str, int],
    log: Log | None = None,
    *,
    pre_score: Status | None = None,
    normalized: Callable[[Scores], Scores] = lambda scores: scores,
    depends_on: DependsOn = DependsOn.CLUSTER,
) -> type[Plugin]:
    """A Score with these scores by node, 0 for any other."""

    class Scripted(PreScorePlugin, ScorePlugin):
        score_depends_on = depends_on

        def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
            return pre_score

        def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
            _note(log, f"{name} scores {','.join(nodes.names())}")
            return np.array([scores.get(node, 0) for node in nodes.names()], np.int64)

        def normalize_score(self, state: CycleState, pod: PodInfo, scores: Scores) -> Scores:
            return normalized(scores)

    return _named(Scripted, name)


def reserving(name: str, answer: Status | None = None, log: Log | None = None) -> type[Plugin]:
    """A Reserve with one answer."""

    class Scripted(ReservePlugin):
        def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
            _note(log, f"{name} reserves {node_name}")
            return answer

        def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
            _note(log, f"{name} unreserves {node_name}")

    return _named(Scripted, name)


def permitting(name: str, answer: Status | Wait | None) -> type[Plugin]:
    """A Permit with one answer."""

    class Scripted(PermitPlugin):
        def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
            return answer

    return _named(Scripted, name)


def pre_binding(
    name: str, answer: Status | None = None, log: Log | None = None, *, ahead: Status | None = None
) -> type[Plugin]:
    """A PreBind with one answer, and one to the question ahead of it."""

    class Scripted(PreBindPlugin):
        def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
            return ahead

        async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
            _note(log, f"{name} pre-binds to {node_name}")
            return answer

    return _named(Scripted, name)


def binding(name: str, answer: Status | None, log: Log | None = None) -> type[Plugin]:
    """A Bind with one answer."""

    class Scripted(BindPlugin):
        async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
            _note(log, f"{name} binds to {node_name}")
            return answer

    return _named(Scripted, name)


def post_binding(name: str, log: Log) -> type[Plugin]:
    """A PostBind."""

    class Scripted(PostBindPlugin):
        def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
            _note(log, f"{name} knows of {node_name}")

    return _named(Scripted, name)


def broken(plugin: type[Plugin], method: str, error: BaseException) -> type[Plugin]:
    """A plugin one of whose methods raises."""

    def fail(*_: Any) -> Any:
        raise error

    return type(plugin.__name__, (plugin,), {method: fail})


def _named(plugin: type[Plugin], name: str) -> type[Plugin]:
    plugin.name = name
    return plugin


def _note(log: Log | None, line: str) -> None:
    if log is not None:
        log.append(line)
