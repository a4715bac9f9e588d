"""Nodes with nominated pods are filtered twice, and the first rejection counts (RunFilterPluginsWithNominatedPods).

The oracle filters node after node: on a copy of the pod's notes with the nominated pods added, then without them.
"""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from muster.framework.config import default_configuration
from muster.framework.contract import (
    CycleState,
    FilterPlugin,
    NodeView,
    Plugin,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.model.pod_info import PodInfo
from muster.framework.runtime.attempt_state import AttemptState
from muster.framework.runtime.framework import Framework
from muster.framework.scheduler.attempt import Attempt
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.explain import explain
from muster.framework.scheduler.group_consultation import GroupConsultation
from muster.framework.scheduler.preemption_trial import PreemptionTrial, Tried
from muster.framework.snapshot.snapshot import Snapshot
from muster.operator.explain.frozen_engine import frozen_engine
from muster.operator.process.settings import assemble
from muster.plugins.defaultpreemption.plugin import DefaultPreemption
from muster.plugins.ports.node_ports import NodePorts
from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.plugins.cluster import info, typed
from tests.scheduler.conftest import SetStage
from tests.scheduler.played_extender import PlayedExtender

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
PORTS = "node(s) didn't have free ports for the requested pod ports"


def a_pod(random: Random, name: str) -> PodDict:
    """A pod that may be in the way of others in several ways."""
    pod = make_pod(name).priority(random.choice((0, 10, 20))).labels(app=random.choice("ab"))
    pod.requests(cpu=random.choice(("1", "2", "5")), memory=random.choice(("1Gi", "4Gi")))
    match random.randrange(6):
        case 0:
            pod.host_port(80)
        case 1:
            pod.near(random.choice((ZONE, HOST)), {"app": random.choice("ab")})
        case 2:
            pod.apart(random.choice((ZONE, HOST)), {"app": random.choice("ab")})
        case 3:
            pod.spread(ZONE, {"app": random.choice("ab")})
    return pod


def a_cluster(random: Random) -> tuple[list[NodeDict], list[PodDict], PodDict]:
    """Nodes, pods that run there or are nominated, and one that wants a node."""
    names = [f"n{number}" for number in range(random.randint(2, 5))]
    nodes = [make_node(name, cpu="4", memory="8Gi", pods="4").zone(random.choice("xy")) for name in names]
    running = [a_pod(random, f"runs-{number}").node(random.choice(names)) for number in range(random.randint(0, 5))]
    waiting = [a_pod(random, f"waits-{number}").nominated(random.choice(names)) for number in range(4)]
    return nodes, [*running, *waiting], a_pod(random, "new")


def engine_of(nodes: Sequence[NodeDict], pods: Sequence[PodDict]) -> Engine:
    return frozen_engine(assemble(default_configuration()), map(typed, nodes), [info(pod).pod for pod in pods])


def sole(framework: Framework, snapshot: Snapshot, row: int, state: AttemptState, pod: PodInfo) -> Status | None:
    """What Filter says of one node as it is."""
    [(_, status)] = framework.filtering.run(state, pod, NodeView(snapshot, np.array([row]))).statuses()
    return status


def node_by_node(engine: Engine, pod: PodInfo) -> tuple[dict[str, Status], int]:
    """The rejections, and how many nodes failed both times with different ones."""
    [algorithm] = engine.algorithms.values()
    framework, snapshot, state = algorithm.framework, algorithm.snapshot, AttemptState()
    rows = snapshot.live_rows()
    assert framework.pre_filtering.run(state, pod, NodeView(snapshot, rows)).status is None
    rejected, differ = {}, 0
    for row in rows.tolist():
        name, notes = snapshot.names[row], state.clone()
        with snapshot.trial():
            for nominee in engine.nominator.nominated_pods(name):
                if nominee.priority >= pod.priority and nominee.uid != pod.uid:
                    snapshot.add_pod(nominee, name)
                    assert framework.filtering.add_pod(notes, pod, nominee, name) is None
            first = sole(framework, snapshot, row, notes, pod)
        second = sole(framework, snapshot, row, state, pod)
        if (status := first or second) is not None:
            rejected[name] = status
        differ += first is not None and second is not None and first != second
    return rejected, differ


def test_every_node_gets_the_answer_of_a_search_of_it_alone() -> None:
    found = differ = 0
    for seed in range(150):
        nodes, pods, new = a_cluster(Random(seed))
        engine = engine_of(nodes, pods)
        [algorithm] = engine.algorithms.values()
        explanation = explain(algorithm, info(new))
        rejected, others = node_by_node(engine, info(new))
        assert explanation.rejected == rejected, seed
        found += bool(explanation.feasible)
        differ += others
    assert found > 20, "where no node is feasible all are looked at anyway"
    assert differ > 20


CROWDED = (make_pod("nominee").host_port(80).priority(100).nominated("small").scheduler("somebody-else"),)
NEW = make_pod("new").host_port(80).requests(cpu="2").priority(10)
"""Does not fit on `small` in either pass; only with the nominated pod it would if others went."""


def test_a_group_searches_victims_on_nodes_whose_first_rejection_is_resolvable() -> None:
    nodes = make_node("small", cpu="1"), make_node("large")
    for nominees, helped in (((), []), (CROWDED, ["small"])):
        engine = engine_of(nodes, nominees)
        [algorithm] = engine.algorithms.values()
        names = algorithm.snapshot.names

        def place(_: Sequence[Attempt]) -> Tried:
            raise AssertionError("nobody is placed")

        fits, could = PreemptionTrial(
            algorithm, engine.nominator, (), place, consultation=GroupConsultation(algorithm.snapshot, (), ())
        ).rows([info(NEW)])
        assert [names[row] for row in fits] == ["large"]
        assert [names[row] for row in could] == helped


class Fragile(FilterPlugin):
    """Breaks on nodes where the pod that it expects is not, or on those where it is."""

    name = "Fragile"
    breaks_with = False

    _table = StatusTable([Status.failure("broken")])

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        snapshot = nodes.snapshot
        there = [any(each.name == "nominee" for each in snapshot.pods[row].values()) for row in nodes.indices()]
        return Verdicts.where(np.array(there) != self.breaks_with, self._table)


class FragileWith(Fragile):
    breaks_with = True


@pytest.mark.parametrize(
    ("plugins", "reported"),
    [
        ((NodePorts, Fragile), f"0/1 nodes are available: 1 {PORTS}."),
        ((Fragile, NodePorts), f"0/1 nodes are available: 1 {PORTS}."),
        ((FragileWith, NodePorts), 'running "Fragile" filter plugin: broken'),
        ((NodePorts, FragileWith), f"0/1 nodes are available: 1 {PORTS}."),
    ],
    ids=["only in the second pass", "only in the second pass, first of all", "in the first", "never asked"],
)
async def test_an_error_counts_in_a_pass_that_comes_so_far(
    set_stage: SetStage, plugins: Sequence[type[Plugin]], reported: str
) -> None:
    stage = set_stage(*plugins)
    stage.drop_node("one")
    stage.put_node(make_node("small"))
    stage.put_pod(*CROWDED, NEW)
    await stage.settle()

    assert stage.conditions["default/new"][1] == reported


@pytest.mark.parametrize(
    ("nominees", "reasons", "helped"),
    [
        ((), "1 Insufficient cpu, 1 large failed.", "2 Preemption is not helpful for scheduling."),
        (
            CROWDED,
            f"1 large failed, 1 {PORTS}.",
            "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.",
        ),
    ],
    ids=["nobody is nominated", "a pod is nominated"],
)
async def test_nodes_that_extenders_leave_are_reported_with_the_first_rejection_of_each_node(
    set_stage: SetStage, nominees: Sequence[PodDict], reasons: str, helped: str
) -> None:
    extender = PlayedExtender(filters=lambda node: f"!{node} failed", pods="new")
    stage = set_stage(NodePorts, NodeResourcesFit, DefaultPreemption, extenders=[extender])
    stage.drop_node("one")
    stage.put_node(make_node("small", cpu="1"), make_node("large"))
    stage.put_pod(make_pod("idle").priority(0).node("large"), *nominees, NEW)
    await stage.settle()

    assert stage.conditions["default/new"][1] == (
        f"0/2 nodes are available: {reasons} preemption: 0/2 nodes are available: {helped}"
    )
