"""Plugins that are asked about one node at a time see nodes that exist, and give reasons that cannot pile up."""

import pytest

from muster.framework.authoring import PerNodeFilter, PerNodeScore
from muster.framework.contract import CycleState, DependsOn, NodeInfo, Plugin, PodInfo, Status, StatusTable
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.stage import Stage


def reader(depends_on: DependsOn) -> type[Plugin]:
    """A plugin that reads each node's object, as one may that was promised a node."""

    class Reader(PerNodeFilter, PerNodeScore):
        name = "Reader"
        filter_depends_on = depends_on
        score_depends_on = depends_on

        def filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
            return Status.unschedulable("cordoned") if node.node.spec.unschedulable else None

        def score_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
            return len(node.node.metadata.labels) % 100

    return Reader


@pytest.mark.parametrize("depends_on", DependsOn)
async def test_a_node_that_was_deleted_is_never_shown_to_a_plugin(depends_on: DependsOn) -> None:
    stage = Stage(reader(depends_on))
    stage.put_node(*(make_node(f"n{number}") for number in range(10)))
    stage.put_pod(make_pod("first"))
    await stage.settle()
    stage.drop_node("n3")
    stage.drop_node("n4")
    stage.put_pod(make_pod("second"), make_pod("third").requests(cpu="1"))
    await stage.settle()
    stage.put_node(make_node("n4").labels(disk="ssd"))
    stage.put_pod(make_pod("fourth"))
    await stage.settle()

    assert {pod for pod, _ in stage.binds} == {f"default/{name}" for name in ("first", "second", "third", "fourth")}
    await stage.close()


class Chatty(PerNodeFilter):
    """Names the pod in its reason."""

    name = "Chatty"

    def filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return Status.unschedulable(f"no room for {pod.name}")


async def test_reasons_that_name_pods_are_reported_and_forgotten(set_stage: SetStage) -> None:
    stage = set_stage(Chatty)
    stage.put_pod(make_pod("web"), make_pod("next"))
    await stage.settle()

    assert stage.notes("default/next") == ["0/1 nodes are available: 1 no room for next."]
    plugin = stage.engine.algorithms["muster"].framework.plugins.plugins["Chatty"]
    assert not any(isinstance(value, StatusTable) and len(value) for value in vars(plugin).values())


def test_a_table_distinguishes_no_more_than_a_few_thousand_reasons() -> None:
    table = StatusTable()
    numbers = [table.number(Status.unschedulable(f"reason {number}")) for number in range(10_000)]

    assert len(table) < 5000
    assert table[numbers[0]].reasons == ("reason 0",)
    assert table[numbers[-1]].rejected
