"""A plugin that implements every method of the contract, and a cluster in which each of them is called."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from muster.framework.authoring import PerNodeFilter, PerNodeScore
from muster.framework.config import default_configuration
from muster.framework.contract import (
    ALLOW,
    Action,
    BindPlugin,
    CapacityPlugin,
    CapacityReserver,
    ClusterEvent,
    Code,
    Counts,
    CycleState,
    DecisionFollower,
    DependsOn,
    Diagnosis,
    Disruption,
    DisruptionPlugin,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    EvictionLimit,
    EvictionLimitPlugin,
    EvictionRule,
    EvictionRulePlugin,
    Favour,
    GroupDecision,
    GroupPlugin,
    Hint,
    Mask,
    NodeInfo,
    NodeView,
    NoDomain,
    ObjectFollower,
    ObjectMeta,
    Part,
    Partition,
    PermitPlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    Plugin,
    PodDecision,
    PodFollower,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    PodGroupTrial,
    PodInfo,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreScorePlugin,
    QueuedPod,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
    Scores,
    Shortage,
    SnapshotReader,
    Start,
    StartForecaster,
    Status,
    StatusTable,
    TenantOrderPlugin,
    Topology,
    Verdicts,
    Wait,
    WatchedKind,
    Wire,
    checkpoint,
)
from muster.framework.scheduler.engine import Engine, build_engine
from muster.framework.scheduler.ports import Ports
from muster.plugins.binding.default_binder import DefaultBinder
from muster.plugins.catalog import IN_TREE
from muster.testing import VirtualScheduler
from tests.builders import PodDict, make_node, make_pod
from tests.scheduler.stage import place_of, profile_of

TREE, RACK = "tree-", "rack-"
"""What the names of groups begin with that consist of groups, or have to be together in a zone."""


class Widget(Wire):
    """What the plugin watches."""

    metadata: ObjectMeta


class Conforming(
    QueueSortPlugin,
    PreEnqueuePlugin,
    EnqueueExtensions,
    PreFilterPlugin,
    PreFilterExtensions,
    CapacityPlugin,
    PostFilterPlugin,
    PodGroupPostFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    ReservePlugin,
    PermitPlugin,
    PreBindPlugin,
    BindPlugin,
    PostBindPlugin,
    GroupPlugin,
    DisruptionPlugin,
    EvictionLimitPlugin,
    EvictionRulePlugin,
    TenantOrderPlugin,
    PodFollower,
    ObjectFollower,
    DecisionFollower,
    CapacityReserver,
    StartForecaster,
):
    """Does nothing wrong. Pods of one `group` are placed two at a time.

    Labels of a pod say what becomes of it: `picky` ones want a node with a label, `long` ones take long to be judged,
    `refused` ones are turned away at Permit. Each of these only as long as the world is `crowded`.

    Attributes:
        crowded: of the class, for all worlds that it is in.
        about: the pod that was looked at last.
    """

    name = "Conforming"
    watches = (WatchedKind("widgets.v1.example.com", "/apis/example.com/v1/widgets", Widget),)
    filter_depends_on = DependsOn.PODS_ON_NODE
    score_depends_on = DependsOn.NODE
    crowded: ClassVar[bool] = True

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.table = StatusTable([Status.unschedulable("too plain")])
        self.about: PodInfo | None = None
        self.judged: set[str] = set()
        self.divided = False

    # Capacity that is reserved.

    @property
    def reserves(self) -> bool:
        return True

    def reserved_shares(self) -> Mapping[str, float]:
        return {"cpu": 0.5}

    def starts(self) -> Sequence[Start]:
        return ()

    # The queue.

    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        return -queued.priority, queued.timestamp

    def tenants_moved(self) -> Sequence[str] | None:
        if self.divided:
            return ()
        self.divided = True
        return None

    def tenant_of(self, namespace: str) -> str:
        return "all"

    def turn_of(self, tenant: str, pod: PodInfo) -> tuple[float, ...]:
        return ()

    def concerns(self, pod: PodInfo) -> bool:
        return True

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return None

    def events_to_register(self) -> Sequence[EventRegistration]:
        return [EventRegistration(ClusterEvent(EventResource.NODE, Action.ALL), self.hint)]

    def hint(self, pod: PodInfo, old: Any, new: Any) -> Hint:
        return Hint.QUEUE

    # The scheduling cycle.

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        self.about = pod
        return None

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node_name: str) -> Status | None:
        return None

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node_name: str) -> Status | None:
        return None

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        if "long" in pod.labels and pod.uid not in self.judged and not state.long_work.gave_up:
            state.long_work.left = self.left(pod)
        picky = "picky" in pod.labels and self.crowded
        return Verdicts(np.full(len(nodes), int(picky), np.int32), self.table)

    def left(self, pod: PodInfo) -> tuple[str, Callable[[], bool]]:
        return self.name, partial(self.work, pod)

    def work(self, pod: PodInfo) -> bool:
        checkpoint()
        self.judged.add(pod.uid)
        return True

    def filter_epoch(self, snapshot: SnapshotReader) -> int:
        return int(self.crowded)

    def capacity(self, pod: PodInfo, nodes: NodeView) -> Counts:
        return np.full(len(nodes), 100)

    def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        checkpoint()
        return None, Status.unschedulable()

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        return None

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        return np.full(len(nodes), 7)

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Scores) -> Scores:
        return np.minimum(scores, 100)

    def score_epoch(self, snapshot: SnapshotReader) -> int:
        return int(self.crowded)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        pass

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
        return Status.unschedulable("not now") if "refused" in pod.labels and self.crowded else ALLOW

    # The binding cycle.

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None

    def planned(self, state: CycleState, pod: PodInfo, node_name: str) -> Mapping[str, Any]:
        return {"widgets": [node_name]}

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return Status.skip()

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        pass

    # Groups.

    def group_of(self, pod: PodInfo) -> str | None:
        return pod.labels.get("group")

    def priority(self, group: str) -> int | None:
        return None

    def missing(self, group: str) -> int:
        return 2 - len([*self._placed(group)])

    def fault(self, group: str) -> str | None:
        return None

    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        text = f"{group}: {placed} of {missing}, {cause.message}"
        if cause.code is Code.PENDING:
            return Status.pending(text)
        return Status.unschedulable(text) if cause.rejected else Status.failure(text)

    def reject_trial(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        return cause

    def topology(self, group: str) -> Topology | None:
        return Topology(("zone",), 1, Favour.PLACEMENT_SCORE) if group.startswith(RACK) else None

    def placed_members(self, group: str) -> Iterable[PodInfo]:
        return self._placed(group)

    def reject_member(self, status: Status, own: Status | None, *, placed: bool) -> Status:
        return status

    def tree(self, group: str) -> Part | None:
        return (
            Part(group, 2, (), parts=[self._leaf(f"{group}-{part}") for part in "ab"]) if self._is_tree(group) else None
        )

    def part_of(self, pod: PodInfo) -> str:
        return f"{pod.labels['group']}-{pod.labels['part']}"

    def reject_part(self, part: Part, cause: Shortage | Status | None) -> Status:
        return Status.unschedulable(f"{part.key} does not fit")

    def preemption_priority(self, group: str, waiting: Sequence[PodInfo]) -> int:
        return max(pod.priority for pod in waiting)

    def may_preempt(self, group: str, waiting: Sequence[PodInfo]) -> bool:
        return True

    def preempts_as(self, pod: PodInfo) -> str | None:
        return None

    def uid(self, group: str) -> str:
        return group

    def disruption(self, pod: PodInfo) -> Disruption | None:
        return None

    def disruption_epoch(self) -> int:
        return 0

    def eviction_rule(self, members: Sequence[PodInfo], missing: int, priority: int) -> EvictionRule | None:
        return None

    def eviction_limit(
        self, members: Sequence[PodInfo], missing: int, priority: int, reason: str
    ) -> EvictionLimit | None:
        return EvictionLimit(protected_until=self.protected_until)

    def protected_until(self, pod: PodInfo) -> float:
        return 0.0

    def may_claim(self, pods: Sequence[PodInfo], missing: int) -> bool:
        return False

    def pod_group_post_filter(
        self, state: CycleState, group: PodGroupInfo, trial: PodGroupTrial
    ) -> tuple[Mapping[str, str] | None, Status | None]:
        with trial.scenario():
            checkpoint()
            trial.schedule()
        return None, Status.unschedulable()

    def score_placements(self, pods: Sequence[PodInfo], domains: Partition, snapshot: SnapshotReader) -> Scores:
        return np.full(len(domains), 50)

    def _is_tree(self, group: str) -> bool:
        return group.startswith(TREE)

    def _leaf(self, key: str) -> Part:
        group, _, part = key.rpartition("-")
        placed = [pod for pod in self._placed(group) if pod.labels["part"] == part]
        return Part(key, 1 - len(placed), placed)

    def _placed(self, group: str) -> Iterator[PodInfo]:
        snapshot = self.handle.snapshot
        for row in snapshot.live_rows().tolist():
            yield from (pod for pod in snapshot.pods[row].values() if pod.labels.get("group") == group)

    # Notifications.

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        pass

    def on_assumed_pod_expired(self, pod: PodInfo) -> None:
        pass

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        pass

    def on_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        pass

    def on_pod_decision(self, decision: PodDecision) -> None:
        checkpoint()

    def on_pod_released(self, decision: PodDecision) -> None:
        pass

    def on_group_decision(self, decision: GroupDecision) -> None:
        checkpoint()


class OneByOne(PerNodeFilter, PerNodeScore):
    """Looks at one node at a time."""

    name = "OneByOne"
    filter_depends_on = DependsOn.OBJECTS

    def accepts_with_fewer_pods(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Mask:
        return np.ones(len(nodes), np.bool_)

    def filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None

    def score_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 7


class World(VirtualScheduler):
    """Three nodes, and an engine of these plugins, NodeResourcesFit and DefaultPreemption.

    Attributes:
        unreported: keys of pods whose binding the API accepts and never reports.
    """

    def __init__(self, *plugins: type[Plugin], stopwatch: Callable[[], float] = lambda: 0.0) -> None:
        self.unreported: set[str] = set()
        super().__init__(*plugins, IN_TREE["NodeResourcesFit"], IN_TREE["DefaultPreemption"], stopwatch=stopwatch)
        self.random = lambda: 1.0
        self.add_nodes(*(make_node(f"node-{zone}", cpu="8").labels(zone=zone) for zone in "xyz"))

    def build(self, ports: Ports) -> Engine:
        """Of these plugins alone; their QueueSort comes first."""
        binder = _Unreporting(ports.binder, self.unreported)
        everyone: tuple[type[Plugin], ...] = (*self._plugins, DefaultBinder, IN_TREE["PrioritySort"])
        registry = {plugin.name: plugin for plugin in everyone}
        profile = profile_of(self._plugins)
        return build_engine(
            default_configuration(), [profile], registry, replace(ports, binder=binder), assumed_ttl=30.0
        )

    def place(self, key: str) -> str:
        """Where in the queue the pod is, or `assumed` or `bound`; "" for nowhere."""
        return place_of(self.engine, self.api.pods[key]["metadata"]["uid"])


class _Unreporting:
    """Implements `contract.Binder`: the API does not report some bindings."""

    def __init__(self, binder: Any, unreported: set[str]) -> None:
        self._binder = binder
        self._unreported = unreported

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        if pod.key in self._unreported:
            return None
        found: Status | None = await self._binder.bind(pod, node_name)
        return found


def member(name: str, group: str, part: str = "a", *, cpu: str = "250m") -> PodDict:
    """A pod of a group."""
    return make_pod(name).requests(cpu=cpu).labels(group=group, part=part)
