"""A plugin that a pod does not concern is asked once for all such pods, and then it is as if it had nothing to do."""

from collections.abc import Mapping

import numpy as np
import pytest

from muster.framework.contract import (
    ALLOW,
    CycleState,
    DependsOn,
    FilterPlugin,
    NodeView,
    PermitPlugin,
    PodInfo,
    PreBindPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
    Scores,
    Status,
    StatusTable,
    Verdicts,
    Wait,
)
from muster.framework.runtime.attempt_state import AttemptState
from muster.plugins.catalog import IN_TREE
from tests.builders import PodDict, make_node, make_pod
from tests.cache.objects import pod as typed_pod
from tests.scheduler.stage import Stage

LOG: list[str] = []


class Ports(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, ReservePlugin, PermitPlugin, PreBindPlugin):
    """Is concerned by pods with host ports, and writes down what it is asked."""

    name = "Ports"
    filter_depends_on = score_depends_on = DependsOn.NODE

    def concerns(self, pod: PodInfo) -> bool:
        LOG.append("concerns")
        return bool(pod.signature.host_ports)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        LOG.append("pre_filter")

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        LOG.append("filter")
        return Verdicts.all_pass(len(nodes), StatusTable())

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        LOG.append("pre_score")

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        LOG.append("score")
        return np.zeros(len(nodes), np.int64)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        LOG.append("reserve")

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        LOG.append("unreserve")

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
        LOG.append("permit")
        return ALLOW

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        LOG.append("pre_bind_pre_flight")

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        LOG.append("pre_bind")
        return Status.failure("not today") if pod.name == "refused" else None


class Broken(Ports):
    """Cannot say whether a pod concerns it."""

    def concerns(self, pod: PodInfo) -> bool:
        raise RuntimeError("boom")


class Worth(ScorePlugin):
    """Finds every node equally good for pods with host ports, and has no PreScore."""

    name = "Worth"

    def concerns(self, pod: PodInfo) -> bool:
        return bool(pod.signature.host_ports)

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        return np.full(len(nodes), 7, np.int64)


EVERYWHERE = ["pre_filter", "filter", "pre_score", "score", "reserve", "permit", "pre_bind_pre_flight", "pre_bind"]


@pytest.fixture(autouse=True)
def _nothing_written_down() -> None:
    LOG.clear()


async def bound(*pods: PodDict, plugin: type[Ports] = Ports) -> Mapping[str, str]:
    """Where the pods went, on a cluster of two nodes."""
    stage = Stage(plugin)
    stage.put_node(make_node("a"), make_node("b"))
    for pod in pods:
        stage.put_pod(pod)
        await stage.settle()
    await stage.close()
    return dict(stage.binds)


async def test_a_plugin_is_called_at_no_point_for_a_pod_that_does_not_concern_it() -> None:
    assert await bound(make_pod("plain")) == {"default/plain": "a"}

    assert LOG == ["concerns"]


async def test_a_plugin_is_called_at_every_point_for_a_pod_that_concerns_it() -> None:
    await bound(make_pod("web").host_port(80))

    assert ["concerns", *EVERYWHERE] == LOG


async def test_a_plugin_is_asked_once_for_all_pods_of_a_signature() -> None:
    await bound(make_pod("one"), make_pod("two"), make_pod("other").requests(cpu="1"))

    assert LOG == ["concerns", "concerns"]


async def test_concerns_is_called_once_for_pods_with_volumes_and_once_for_pods_without() -> None:
    plain = typed_pod(make_pod("plain"))
    assert plain.signature is typed_pod(make_pod("stored").claim("data")).signature

    await bound(make_pod("plain"), make_pod("stored").claim("data"), make_pod("stored-too").claim("more"))

    assert LOG == ["concerns", "concerns"]


async def test_unreserve_is_called_for_a_concerned_pod() -> None:
    await bound(make_pod("refused").host_port(80))

    assert LOG[-1] == "unreserve"


async def test_a_plugin_that_cannot_say_is_called_everywhere() -> None:
    assert await bound(make_pod("plain"), plugin=Broken) == {"default/plain": "a"}

    assert LOG == EVERYWHERE


def test_all_nodes_are_worth_nothing_to_a_score_plugin_that_the_pod_does_not_concern() -> None:
    stage = Stage(Worth)
    stage.put_node(make_node("a"), make_node("b"))
    algorithm = stage.engine.algorithms["muster"]

    def totals(pod: PodDict) -> list[int]:
        state, info = AttemptState(), typed_pod(pod)
        found = algorithm.find_nodes_that_fit(state, info)
        scored = algorithm.prioritize_nodes(state, info, found.rows)
        assert not isinstance(scored, Status)
        assert list(scored.by_plugin) == ["Worth"]
        found_totals: list[int] = scored.totals.tolist()
        return found_totals

    assert totals(make_pod("plain")) == [0, 0]
    assert totals(make_pod("web").host_port(80)) == [7, 7]


@pytest.mark.parametrize("name", sorted(name for name, each in IN_TREE.items() if "concerns" in vars(each)))
def test_our_plugins_would_have_nothing_to_do_for_pods_that_do_not_concern_them(name: str) -> None:
    stage = Stage(IN_TREE[name])
    stage.put_node(make_node("a"))
    plugin, state = stage.engine.algorithms["muster"].framework.plugins.plugins[name], AttemptState()
    nodes = NodeView(stage.engine.cache.snapshot, None)
    pods = (
        make_pod("plain"),
        make_pod("claims").claim("data"),
        make_pod("port").host_port(80),
        make_pod("pinned").node_selector({"zone": "y"}),
        make_pod("gpu").requests({"example.com/gpu": "1"}),
    )

    others = [pod for pod in map(typed_pod, pods) if not plugin.concerns(pod)]

    assert others[0].name == "plain"
    for pod in others:
        if isinstance(plugin, PreFilterPlugin):
            assert plugin.pre_filter(state, pod, nodes) in (None, Status.skip())
        if isinstance(plugin, PreScorePlugin):
            assert plugin.pre_score(state, pod, nodes) == Status.skip()
        if isinstance(plugin, ReservePlugin):
            assert plugin.reserve(state, pod, "a") is None
        if isinstance(plugin, PreBindPlugin):
            assert plugin.pre_bind_pre_flight(state, pod, "a") == Status.skip()
