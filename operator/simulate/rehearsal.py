"""The rehearsal: the real engine on a snapshot of a cluster, with an API that accepts every binding and stores none.

It decides as `muster run` does: the same queue order, the same gang transactions, the same messages. Only among equally
good nodes it may choose another one than a process that added the nodes in another order. Time is virtual, so retries
and timeouts cost nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import msgspec

from muster.framework.contract import QUOTA_EXCEEDED, Code, GroupId, Part, Status
from muster.framework.contract.reservation import Start
from muster.framework.embedded.clock import VirtualClock
from muster.framework.embedded.engine import EmbeddedEngine
from muster.framework.embedded.loop import VirtualLoop
from muster.framework.groups.plugin import GroupBookPlugin
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.runtime.attempt_state import AttemptState
from muster.framework.runtime.consultation import Consultation
from muster.framework.scheduler.algorithm import Feasible
from muster.framework.scheduler.engine import build_engine
from muster.framework.scheduler.explain import heard
from muster.framework.scheduler.gate_reports import GATED
from muster.framework.scheduler.permit_reports import waits_on_permit
from muster.framework.scheduler.ports import Ports, first_of_equals
from muster.operator.process.settings import Assembly
from muster.plugins.catalog import QUOTAS

from .controllers import bind_volumes
from .evictions import Evicted, Spectator, evicted_in, followed_by
from .extenders import NO_EXTENDERS, ExtenderSession
from .manifests import Objects
from .stage import RehearsalApi
from .starts import forecasters
from .stored import StoredObjects
from .wording import unanswered
from .workload_groups import groups_to_create

_BETWEEN_PODS_SECONDS = 0.001
_QUIET_SECONDS = 1.0
"""Longer than the longest backoff: if no pod is bound for this time, none will be."""

_WAITS = "waits for its siblings"
_UNSCHEDULABLE = (Code.UNSCHEDULABLE.wire_name, Code.UNSCHEDULABLE_AND_UNRESOLVABLE.wire_name)


@dataclass(frozen=True, slots=True)
class Placement:
    """The outcome for one pod.

    Attributes:
        pod: the pod.
        group: the `namespace/name` of its PodGroup, or "".
        node: where it would go; "" when nowhere.
        reason: why nowhere, or why it waits at Permit, although it has a node.
        lacks_nodes: whether that is because of the nodes that there are.
    """

    pod: PodInfo
    group: str
    node: str
    reason: str
    lacks_nodes: bool

    @property
    def likeness(self) -> object:
        """A key that is equal for pods of one group, and for equal pods without a group that have the same labels."""
        return self.group or (self.pod.signature, self.pod.label_set)


@dataclass(frozen=True, slots=True)
class RehearsalResult:
    """The result of trying pods one after another.

    Attributes:
        placed: the node of each pod that found one, by the pod's key.
        blocked: the key of the first pod that found no node; "" if all found one.
        reasons: the status with which each node was rejected for that pod.
    """

    placed: dict[str, str]
    blocked: str
    reasons: Mapping[str, Status]


class Rehearsal:
    """A cluster in which a scheduler decides; an async context manager.

    Waiting pods of the cluster are not tried, but keep the capacity of the nodes that they are nominated to. Pods that
    are to be placed again are removed from it. `wall` is the time of day in seconds since the epoch. The extenders of
    `session` are called; virtual time stands still meanwhile. Raises QuantityError if an amount cannot be parsed.

    Attributes:
        groups: the kinds of groups that pods may belong to.
        nodes: the nodes of the cluster.
        pods: the pods to place, as if just created.
    """

    def __init__(
        self,
        assembly: Assembly,
        cluster: Objects,
        wanted: Objects,
        *,
        wall: float = 0.0,
        session: ExtenderSession = NO_EXTENDERS,
    ) -> None:
        self._groups = {
            kind: [*cluster.watched.get(kind, ()), *wanted.watched.get(kind, ())] for kind in assembly.groups.watched
        }
        self.groups = assembly.groups.among(self._groups)
        self._names = [profile.scheduler_name for profile in assembly.profiles]
        self._clock = VirtualClock(0.0, wall)
        self._quiet = _QUIET_SECONDS + assembly.configuration.pod_max_backoff_seconds
        self._loop = VirtualLoop(self._clock)
        self._stage = RehearsalApi()
        self._session = session
        self._stored = StoredObjects(assembly.watched(), bind_volumes, otherwise=self._stage)
        ports = Ports(
            clock=self._clock,
            random=lambda: 1.0,
            spawn=self._loop.spawn,
            wake=lambda: None,
            binder=self._stage,
            conditions=self._stage,
            events=lambda _: self._stage,
            listers=self._stored.listers,
            api=self._stored,
            extenders=session.extenders,
        )
        followed = followed_by(assembly, Spectator, *forecasters(assembly))
        self._engine = build_engine(followed.configuration, followed.profiles, followed.registry, ports)
        self._driver = EmbeddedEngine(self._engine, self._clock, self._loop, calls=session.unanswered)
        self.nodes = tuple(cluster.nodes)
        self.pods = tuple({pod.metadata.key: self._waiting(pod) for pod in wanted.pods}.values())
        self._set(cluster, wanted)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._loop.end()

    async def place(self, pods: Sequence[Pod]) -> list[Placement]:
        """Create the pods one after another, and let the scheduler place them as far as possible."""
        for pod in pods:
            self._clock.move_to(self._clock.now() + _BETWEEN_PODS_SECONDS)
            self._engine.pod_handler.on_add(pod)
        for kind, group in groups_to_create(self._engine, self.groups, pods):
            self._groups[kind].append(group)
            self._stored.listers[kind.resource].put(group)
        self.groups = self.groups.among(self._groups)
        await self._until_quiet()
        return [self._placement(PodInfo(pod)) for pod in pods]

    @property
    def evicted(self) -> Sequence[Evicted]:
        """The pods that were evicted so far."""
        return evicted_in(self._engine.shared)

    def quota(self, namespace: str) -> Sequence[str]:
        """The namespace's use of its quota, a sentence for each resource."""
        return QUOTAS.standing(self._engine.shared, namespace)

    @property
    def running(self) -> Iterable[Pod]:
        """The pods that run in the cluster and were not evicted."""
        return self._stage.running.values()

    def tree_of(self, group: GroupId) -> Part | None:
        """The current tree of a group; None for a group that is not part of one."""
        plugins = (each for each in self._engine.plugins(GroupBookPlugin) if each.name == group.plugin)
        found = next(plugins, None)
        return None if found is None else found.book.tree_around(group.key)

    async def placed_without(self, ended: Iterable[Pod], pods: Sequence[Pod]) -> int:
        """The number of `pods` that would be placed if the running pods `ended` had ended, without further evictions.

        Does not change the cluster.
        """
        evicted = len(self.evicted)
        with self.without(ended):
            placements = await self.place(pods)
            await self.remove(pods)
        return sum(1 for each in placements if each.node) if len(self.evicted) == evicted else 0

    @contextmanager
    def without(self, ended: Iterable[Pod]) -> Iterator[None]:
        """End running pods for as long as the block lasts; pods that are evicted in the block come back as well."""
        running = dict(self._stage.running)
        for pod in ended:
            self._stage.end(pod)
            self._engine.pod_handler.on_delete(pod)
        try:
            yield
        finally:
            for pod in self._stage.restore(running):
                self._engine.pod_handler.on_add(pod)

    @property
    def starts(self) -> Sequence[Start]:
        """The latest starts of pods and groups that lack capacity, if they follow from the ends of running pods."""
        return self._engine.starts()

    async def remove(self, pods: Iterable[Pod]) -> None:
        """Delete pods, waiting or placed, from the cluster and the scheduler."""
        for pod in pods:
            node = self._stage.take_off(pod.metadata.uid)
            self._engine.pod_handler.on_delete(_on(node, pod) if node else pod)
        await self._settle()

    async def misfits(self, pods: Sequence[PodInfo]) -> list[PodInfo]:
        """The waiting pods among `pods` that find no node, tried one after another; does not change the cluster."""
        heard_of = await self._extender_answers(pods)
        with self._engine.cache.snapshot.trial():
            return [pod for pod in pods if not self._add_in_trial(pod, heard_of)[0]]

    async def one_after_another(self, pods: Sequence[PodInfo]) -> RehearsalResult:
        """Try waiting pods, each with the previous ones on their nodes, up to the first that finds no node.

        Pods to which no profile answers are left out. Nothing changes.
        """
        pods = [pod for pod in pods if self._is_answered(pod)]
        tried = RehearsalResult({}, "", {})
        heard_of = await self._extender_answers(pods)
        with self._engine.cache.snapshot.trial():
            for pod in pods:
                node, found = self._add_in_trial(pod, heard_of)
                if not node:
                    return RehearsalResult(tried.placed, pod.key, _reasons(found))
                tried.placed[pod.key] = node
        return tried

    async def _extender_answers(self, pods: Sequence[PodInfo]) -> dict[str, Consultation | None]:
        """The extenders' answers about nodes as they are, by the UIDs of the pods that may have them."""
        extenders, algorithms = self._session.extenders, self._engine.algorithms
        asked = [pod for pod in pods if extenders and self._engine.waiting_pods.get(pod.uid) is None]
        answers = await asyncio.gather(
            *(heard(extenders, algorithms[pod.pod.spec.scheduler_name], pod) for pod in asked)
        )
        return {pod.uid: answer for pod, answer in zip(asked, answers, strict=True)}

    def _add_in_trial(self, pod: PodInfo, heard_of: Mapping[str, Consultation | None]) -> tuple[str, Feasible | None]:
        """The node on which the pod was counted ("" for none), and the result of filtering.

        A pod that waits at Permit is counted on its node already.
        """
        waiting = self._engine.waiting_pods.get(pod.uid)
        if waiting is not None:
            return waiting.node_name, None
        snapshot, algorithm = self._engine.cache.snapshot, self._engine.algorithms[pod.pod.spec.scheduler_name]
        state = AttemptState()
        state.group, state.consultation = self.groups.key_of(pod.pod), heard_of.get(pod.uid)
        found = algorithm.find_to_the_end(state, pod)
        row = algorithm.select_host(state, pod, found, first_of_equals) if len(found.rows) else None
        if not isinstance(row, int):
            return "", found
        snapshot.add_pod(pod, snapshot.names[row])
        return snapshot.names[row], found

    def add_nodes(self, nodes: Iterable[Node]) -> None:
        """Add nodes."""
        for node in nodes:
            self._engine.node_handler.on_add(node)

    def remove_nodes(self, nodes: Iterable[Node]) -> None:
        """Remove nodes."""
        for node in nodes:
            self._engine.node_handler.on_delete(node)

    def _set(self, cluster: Objects, wanted: Objects) -> None:
        self.add_nodes(cluster.nodes)
        for found in (cluster, wanted):
            for kind, objects in found.watched.items():
                if kind in self._engine.object_handlers:
                    for obj in objects:
                        self._stored.listers[kind.resource].put(obj)
        self._stored.report_to(self._engine.object_handlers)
        anew = {pod.metadata.key for pod in self.pods}
        for pod in cluster.pods:
            if pod.status.phase in ("Succeeded", "Failed") or pod.metadata.key in anew:
                continue
            if pod.spec.node_name:
                self._engine.pod_handler.on_add(pod)
                self._stage.running[pod.metadata.key] = pod
            elif node := pod.status.nominated_node_name:
                self._engine.nominator.nominate(PodInfo(pod), node)

    def _waiting(self, pod: Pod) -> Pod:
        """The pod as if just created. One that names no scheduler is tried by the first profile."""
        return as_new(pod, pod.spec.scheduler_name or self._names[0])

    def _is_answered(self, pod: PodInfo) -> bool:
        """Whether a profile answers to the pod, which is left to others otherwise."""
        return pod.pod.spec.scheduler_name in self._names

    async def _until_quiet(self) -> None:
        """Advance the time until no pod has been bound for longer than the longest backoff."""
        await self._settle()
        bound, until = len(self._stage.bound), self._clock.now() + self._quiet
        while (moment := self._driver.next_moment()) <= until:
            self._clock.move_to(moment)
            await self._settle()
            if len(self._stage.bound) > bound:
                bound, until = len(self._stage.bound), self._clock.now() + self._quiet

    async def _settle(self) -> None:
        """Process everything that needs no time: decisions, bindings, and their reports."""
        await self._driver.settle()
        while self._stage.has_news:
            for pod, node in self._stage.news():
                self._engine.pod_handler.on_update(pod, _on(node, pod))
            for pod in self._stage.deletions():
                self._engine.pod_handler.on_delete(pod)
            await self._driver.settle()

    def _placement(self, pod: PodInfo) -> Placement:
        group, node = self.groups.key_of(pod.pod), self._stage.bound.get(pod.uid, "")
        if node:
            return Placement(pod, group, node, "", lacks_nodes=False)
        if not self._is_answered(pod):
            reason = unanswered(pod.pod.spec.scheduler_name, self._names)
            return Placement(pod, group, "", reason, lacks_nodes=False)
        if pod.pod.spec.scheduling_gates:
            return Placement(pod, group, "", GATED, lacks_nodes=False)
        waiting = self._engine.waiting_pods.get(pod.uid)
        if waiting is not None:
            return Placement(pod, group, "", waits_on_permit(waiting.node_name, waiting.messages), lacks_nodes=False)
        last = self._engine.scheduler.reports.last(pod.key)
        reason = last.message if last is not None else self._stage.messages.get(pod.uid) or self._kept_out(pod)
        lacks_quota = QUOTA_EXCEEDED in (self._engine.scheduler.reports.reported(pod.uid) or ())
        lacks_nodes = last is not None and last.code in _UNSCHEDULABLE and not lacks_quota
        return Placement(pod, group, "", reason, lacks_nodes=lacks_nodes)

    def _kept_out(self, pod: PodInfo) -> str:
        """The reason why the pod was never tried."""
        status = self._engine.algorithms[pod.pod.spec.scheduler_name].framework.run_pre_enqueue_plugins(pod)
        return _WAITS if status is None else status.message


def _reasons(found: Feasible | None) -> dict[str, Status]:
    """The status of each rejected node; none if the pod was rejected before the first node was filtered."""
    if found is None or found.diagnosis is None or found.diagnosis.prefilter_message:
        return {}
    return {name: status for name, status in found.diagnosis.statuses() if status is not None}


def as_new(pod: Pod, scheduler_name: str) -> Pod:
    """The pod as if just created for this scheduler, without node and status."""
    spec = msgspec.structs.replace(pod.spec, scheduler_name=scheduler_name, node_name="")
    return Pod(pod.metadata, spec)


def _on(node: str, pod: Pod) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))
