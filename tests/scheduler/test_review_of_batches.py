"""Each pod of a batch is told the reason that holds now, whether or not one pod can answer for all."""

from collections.abc import Sequence

from muster.framework.authoring import PerNodeFilter
from muster.framework.contract import (
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    FilterPlugin,
    Hint,
    Node,
    NodeInfo,
    NodeView,
    Plugin,
    PodInfo,
    PreFilterPlugin,
    Status,
    StatusTable,
    Verdicts,
)
from muster.testing import make_node, make_pod
from tests.scheduler.test_review import CPU, HALF_A_MINUTE, Reviewed


class Secretive(PreFilterPlugin, FilterPlugin):
    """Rejects all pods while node `node` has the label `shut`, and does not say what else it reads."""

    name = "Secretive"
    _table = StatusTable()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        return Status.unschedulable("the cluster is shut") if nodes.snapshot.labels.column("shut").count else None

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        return Verdicts.all_pass(len(nodes), self._table)


class AsksEach(PerNodeFilter, EnqueueExtensions):
    """Rejects nodes with the label `shut`, whatever the pod. Its hint is called for each pod."""

    name = "AsksEach"
    filter_depends_on = DependsOn.NODE

    def filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return Status.unschedulable("node(s) were shut") if "shut" in node.labels else None

    def events_to_register(self) -> Sequence[EventRegistration]:
        return [EventRegistration(ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_LABEL), _opened)]


def _opened(pod: PodInfo, old: Node, new: Node) -> Hint:
    return Hint.queue_if("shut" not in new.metadata.labels)


ASKED_FIRST = b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
  - schedulerName: muster
    plugins: {multiPoint: {enabled: [{name: AsksEach}]}, filter: {enabled: [{name: AsksEach}]}}
"""


async def full_of(count: int, *plugins: type[Plugin], configuration: bytes | None = None) -> Reviewed:
    """A cluster of one node without any cpu left, for which so many equal pods wait."""
    cluster = Reviewed(*plugins, configuration=configuration)
    cluster.add_nodes(make_node("node", cpu="1"))
    cluster.add(make_pod("first").requests(cpu="1").node("node"))
    cluster.add(*(make_pod(f"pod-{number:03}").requests(cpu="1") for number in range(count)))
    await cluster.settle()
    assert len(cluster.waiting_for(CPU)) == count
    return cluster


async def test_a_cordon_is_told_to_all() -> None:
    cluster = await full_of(200)
    cluster.api.change("nodes", "node", lambda node: node["spec"].update(unschedulable=True))
    await cluster.run(HALF_A_MINUTE)

    assert len(cluster.waiting_for("node(s) were unschedulable")) == 200


async def test_a_verdict_by_signature_is_told_to_all_though_hints_are_for_each() -> None:
    cluster = await full_of(200, AsksEach, configuration=ASKED_FIRST)
    cluster.api.change("nodes", "node", lambda node: node["metadata"]["labels"].update(shut="yes"))
    await cluster.run(HALF_A_MINUTE)

    assert len(cluster.waiting_for("node(s) were shut")) == 200


async def test_where_one_cannot_answer_for_the_others_each_is_reviewed() -> None:
    cluster = await full_of(60, Secretive)
    cluster.api.change("nodes", "node", lambda node: node["metadata"]["labels"].update(shut="yes"))
    await cluster.run(HALF_A_MINUTE)
    assert len(cluster.waiting_for("the cluster is shut")) == 60

    cluster.api.change("nodes", "node", lambda node: node["metadata"]["labels"].pop("shut"))
    await cluster.run(HALF_A_MINUTE)
    assert len(cluster.waiting_for(CPU)) == 60
