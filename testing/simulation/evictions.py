"""Evictions: which pods are evicted for which, judged at the decision and when the request arrives.

A decision is judged by the state of its process at that moment, counted again: amounts of CPU, priorities, members of
groups. The rules are those of preemption:

- a victim, with its whole group, has a lower priority than the preemptor;
- no pod is evicted that could stay: with any of the victims back, the preemptor no longer fits on the node;
- of a group with a quorum, either the quorum stays or no member does;
- no pod is evicted against a PodDisruptionBudget for a preemptor that fits without the eviction, on whichever node;
- no pod is evicted before it has run for its minimum, and none by a preemptor before its delay (`timing`);
- a process deletes pods because of such a decision and for no other reason. Healing uses the eviction API, which
  respects budgets by itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from muster.framework.contract import CycleState, GroupDecision, Placed, PodDecision, PodGroupInfo, PodInfo
from muster.framework.model.quantity import milli_value, nanos
from muster.framework.model.requests import CPU
from muster.framework.scheduler.engine import Engine
from muster.plugins.capacityscheduling.shared import ledger_in
from muster.plugins.coscheduling.api import NAME as COSCHEDULING
from muster.plugins.coscheduling.book import PodGroups
from muster.plugins.defaultpreemption.budgets import POD_DISRUPTION_BUDGETS, PodDisruptionBudget
from muster.plugins.defaultpreemption.candidates import Candidate
from muster.plugins.defaultpreemption.group_search import GroupPreemption
from muster.plugins.defaultpreemption.plugin import DefaultPreemption
from muster.plugins.preemptiontiming.plugin import PreemptionTiming
from muster.plugins.reservation.plugin import Reservation

from .members import GROUP_LABEL
from .passing import NAMESPACE
from .reserved import Reserved
from .timing import EvictionTimes

Blame = Callable[[str], None]


class EvictionJudge:
    """Follows the decisions of all processes."""

    def __init__(self, events: Counter[str], wall: Callable[[], float]) -> None:
        """`events` counts decisions, by the kind of preemptor; `wall` is the API server's clock."""
        self._events = events
        self._wall = wall
        self._decided: dict[str, set[str]] = defaultdict(set)
        self._reserved: dict[str, Reserved] = {}

    def follow(self, sender: str, engine: Engine, blame: Blame) -> None:
        """Judge the further decisions of this process."""
        for algorithm in engine.algorithms.values():
            plugins = algorithm.framework.plugins.plugins
            plugin, reservation = plugins.get(DefaultPreemption.name), plugins.get(Reservation.name)
            if isinstance(plugin, DefaultPreemption):
                self._watch(sender, plugin, engine, blame)
            if isinstance(reservation, Reservation):
                self._note_reservations(sender, reservation, engine)

    def requested(self, sender: str, uid: str | None) -> bool:
        """Whether a process that deletes a pod has decided to evict that pod."""
        return uid in self._decided[sender]

    def _note_reservations(self, sender: str, plugin: Reservation, engine: Engine) -> None:
        """Keep what was reserved when a decision was made: following it, the plugin reserves for others."""
        on_pod, on_group = plugin.on_pod_decision, plugin.on_group_decision

        def on_pod_decision(decision: PodDecision) -> None:
            self._reserved[sender] = Reserved(engine)
            on_pod(decision)

        def on_group_decision(decision: GroupDecision) -> None:
            self._reserved[sender] = Reserved(engine)
            on_group(decision)

        plugin.on_pod_decision = on_pod_decision  # type: ignore[method-assign]  # the engine asks this very plugin
        plugin.on_group_decision = on_group_decision  # type: ignore[method-assign]  # as above

    def _watch(self, sender: str, plugin: DefaultPreemption, engine: Engine, blame: Blame) -> None:
        on_pod, on_group = plugin.on_pod_decision, plugin.on_group_decision
        limiter = engine.algorithms[plugin.handle.profile_name].framework.plugins.plugins.get(PreemptionTiming.name)

        def times() -> EvictionTimes | None:
            if not isinstance(limiter, PreemptionTiming):
                return None
            self._events["evictions with times"] += 1
            return EvictionTimes(engine, limiter, self._wall())

        def judge(preemptor: str, decision: EvictionDecision) -> None:
            self._decided[sender].update(placed.pod.uid for placed in decision.victims)
            for fault in decision.faults():
                blame(f"evicts for {preemptor}: {fault}")

        def on_pod_decision(decision: PodDecision) -> None:
            judge_group(decision.state)
            pod, names = decision.pod, engine.cache.snapshot.names
            may_have = names if decision.within is None else [names[row] for row in decision.within.tolist()]
            for candidate in _candidates(decision.state.get(plugin.name)):
                placement = [Placed(pod, candidate.node_name)]
                of_pod = EvictionDecision(
                    engine,
                    plugin,
                    placement,
                    pod.priority,
                    victims=candidate.victims,
                    waiting=[pod],
                    alternatives=may_have,
                    reserved=self._reserved.get(sender),
                    times=times(),
                )
                judge(f"pod {pod.key}", of_pod)
                self._events["evictions for pods"] += 1
            on_pod(decision)

        def on_group_decision(decision: GroupDecision) -> None:
            judge_group(decision.state)
            on_group(decision)

        def judge_group(state: CycleState) -> None:
            match state.get(plugin.name):
                case (_, GroupPreemption() as plan, PodGroupInfo() as group):
                    priority = max(pod.priority for pod in group.members)
                    of_group = EvictionDecision(
                        engine,
                        plugin,
                        plan.placement,
                        priority,
                        victims=plan.victims,
                        waiting=group.members,
                        reserved=self._reserved.get(sender),
                        missing=group.missing,
                        times=times(),
                    )
                    judge(group.key, of_group)
                    self._events["evictions for groups"] += 1

        plugin.on_pod_decision = on_pod_decision  # type: ignore[method-assign]  # the engine asks this very plugin
        plugin.on_group_decision = on_group_decision  # type: ignore[method-assign]  # as above


def _candidates(noted: object) -> list[Candidate]:
    """The candidates that are noted for a pod; none for a pod that preempts as its group."""
    return [each for each in noted if isinstance(each, Candidate)] if isinstance(noted, tuple) else []


@dataclass(frozen=True, slots=True)
class EvictionDecision:
    """One decision to evict `victims`, so that the pods of `placement`, of this priority, get these nodes.

    `waiting` are those that it is for, of which `missing` have to be placed: it ends the nominations of all of them but
    those of the placement. A pod by itself could have one of the `alternatives` instead. `reserved` is what was
    reserved when it was made; None for what is reserved now. `times` are those around preemption, if there are any.
    """

    engine: Engine
    plugin: DefaultPreemption
    placement: Sequence[Placed]
    priority: int
    victims: Sequence[Placed]
    waiting: Sequence[PodInfo]
    alternatives: Collection[str] = ()
    reserved: Reserved | None = None
    missing: int = 1
    times: EvictionTimes | None = None

    def faults(self) -> Iterator[str]:
        """All faults of the decision."""
        yield from self._of_priorities()
        yield from self._of_need()
        yield from self._of_groups()
        yield from self._of_budgets()
        if self.times is not None:
            leaving = self._leaving()
            going = [pod for pod, _ in self.victims if not pod.terminating and pod.uid not in leaving]
            yield from self.times.faults(self.waiting, self.missing, going)

    def _leaving(self) -> set[str]:
        """UIDs of the pods whose eviction was decided before."""
        return self.plugin.handle.shared(f"{DefaultPreemption.name}.leaving", set[str])

    def _of_priorities(self) -> Iterator[str]:
        going = {_group_of(placed.pod) for placed in self.victims} - {None}
        running = (pod for pod, _ in self.engine.cache.placements() if _group_of(pod) in going)
        for pod in (*(placed.pod for placed in self.victims), *running):
            if pod.priority >= self.priority:
                yield f"{pod.key} of priority {pod.priority} is to go for priority {self.priority}"

    def _of_need(self) -> Iterator[str]:
        """Victims that could stay although the others are evicted."""
        freed = Counter[str]()
        for pod, node in self.victims:
            freed[node] += cpu(pod)
        asked = Counter[str]()
        for pod, node in self.placement:
            asked[node] += cpu(pod)
        left = {node: self._free(node) + freed[node] - amount for node, amount in asked.items()}
        for node, amount in left.items():
            if amount < 0:
                yield f"{node} lacks {-amount}m even so"
        counted = {*self._nodes()}
        freed_in_all = sum(amount for node, amount in freed.items() if node in counted)
        more = self._free_in_all() + freed_in_all - self._needed_in_all()
        if more < 0:  # it had all of that once, so it is not asked for again
            more = freed_in_all
        quota_left = self._quota_left() + sum(freed.values()) - sum(asked.values())
        if quota_left < 0:
            yield f"the quota lacks {-quota_left}m even so"
        together: dict[str, Counter[str]] = defaultdict(Counter)
        for pod, node in self.victims:
            together[_group_of(pod) or pod.key][node] += cpu(pod)
        for name, back in together.items():
            taken = sum(amount for node, amount in back.items() if node in counted)
            has_room = all(left.get(node, amount) >= amount for node, amount in back.items())
            if has_room and more >= taken and quota_left >= sum(back.values()):
                yield f"{name} is to go and could stay"

    def _quota_left(self) -> float:
        """The CPU that the quota leaves beside running pods and those that are nominated and come first."""
        ledger = ledger_in(self.engine.shared)
        quota = None if ledger is None else ledger.tree.by_namespace.get(NAMESPACE)
        if quota is None:
            return inf
        waiting, least = {pod.uid for pod in self.waiting}, min(pod.priority for pod, _ in self.placement)
        ahead = (pod for pod, _ in self.engine.nominator.nominations() if pod.uid not in waiting)
        running = sum(cpu(pod) for pod, _ in self.engine.cache.placements())
        return quota.max.get(CPU, inf) - running - sum(cpu(pod) for pod in ahead if pod.priority >= least)

    def _needed_in_all(self) -> int:
        """The capacity that has to be free for the preemptor's group on any nodes: the rest of its `minResources`."""
        known, name = self.engine.shared.get(COSCHEDULING), _group_of(self.placement[0].pod)
        group = known.get(name) if isinstance(known, PodGroups) and name is not None else None
        amount = (group.spec.min_resources or {}).get(CPU) if group is not None else None
        if amount is None:
            return 0
        running = (pod for pod, _ in self.engine.cache.placements() if _group_of(pod) == name)
        return milli_value(nanos(str(amount))) - sum(map(cpu, running))

    def _free_in_all(self) -> int:
        """The total free capacity of nodes that take pods."""
        snapshot, column = self.engine.cache.snapshot, self.engine.cache.snapshot.resources.index(CPU)
        rows = (snapshot.row_of(name) for name in self._nodes())
        columns = snapshot.resources
        return sum(
            max(0, int(columns.allocatable[column, row] - columns.requested[column, row]))
            for row in rows
            if row is not None and column is not None
        )

    def _of_groups(self) -> Iterator[str]:
        """Groups that keep too few members. A group whose victims are all terminating is left to its healing."""
        known = self.engine.shared.get(COSCHEDULING)
        going = {placed.pod.uid for placed in self.victims} | self._leaving()
        groups = {_group_of(pod) for pod, _ in self.victims if not pod.terminating}
        for name in sorted(name for name in groups if name is not None):
            running = [pod for pod, _ in self.engine.cache.placements() if _group_of(pod) == name]
            staying = sum(pod.uid not in going and not pod.terminating for pod in running)
            if isinstance(known, PodGroups) and 0 < staying < (needed := known.quorum(name)):
                yield f"{staying} members of {name} are to stay, which needs {needed}"

    def _of_budgets(self) -> Iterator[str]:
        """Checked for single pods only: for groups, preemption takes the cheapest of some options, not of all."""
        if not self.alternatives:
            return
        [(preemptor, _)] = self.placement
        if preemptor.pod.spec.node_selector or preemptor.pod.spec.resource_claims:
            return
        budgets = [*self.plugin.handle.lister(POD_DISRUPTION_BUDGETS).list()]
        forbidden = [
            f"budget {budget.metadata.name} forbids to evict {pod.key}"
            for pod, _ in self.victims
            for budget in budgets
            if _covers(budget, pod)
            and not budget.status.disruptions_allowed
            and pod.name not in budget.status.disrupted_pods
        ]
        for node in (name for name in self._nodes() if name in self.alternatives) if forbidden else ():
            others = sum(
                cpu(pod)
                for pod, where in self.engine.cache.placements()
                if where == node
                and pod.priority < self.priority
                and _group_of(pod) is None
                and not any(_covers(budget, pod) for budget in budgets)
                and (self.times is None or self.times.may_go(pod))
            )
            if min(self._free(node), self._quota_left()) + others >= cpu(preemptor):
                yield f"{', '.join(forbidden)}, and on {node} others are enough"

    def _free(self, node: str) -> int:
        """The CPU that is free for the pods there beside running and nominated pods and reservations.

        A nomination that an earlier process made counts for nothing while its pod is kept out of the queue.
        """
        snapshot, nominator = self.engine.cache.snapshot, self.engine.nominator
        row, column = snapshot.row_of(node), snapshot.resources.index(CPU)
        if row is None or column is None:
            return 0
        first = self.placement[0].pod
        nominees = [pod for _, pods in nominator.in_the_way_of(first, [node]) for pod in pods]
        waiting = {pod.uid for pod in self.waiting}
        nominated = sum(cpu(pod) for pod in nominees if pod.uid not in waiting)
        kept = (self.reserved or Reserved(self.engine)).against_all(waiting, self.priority, node)
        columns = snapshot.resources
        return int(columns.allocatable[column, row] - columns.requested[column, row]) - nominated - kept

    def _nodes(self) -> Iterator[str]:
        """The nodes that take pods."""
        snapshot = self.engine.cache.snapshot
        for row, name in enumerate(snapshot.names):
            if snapshot.live_row_of(name) == row and not snapshot.unschedulable[row]:
                yield name


def cpu(pod: PodInfo) -> int:
    """The request of a pod, in thousandths of a CPU."""
    return pod.signature.requests.get(CPU, 0)


def _group_of(pod: PodInfo) -> str | None:
    """`namespace/name` of the group that a pod's label names."""
    name = pod.labels.get(GROUP_LABEL)
    return None if name is None else f"{pod.namespace}/{name}"


def _covers(budget: PodDisruptionBudget, pod: PodInfo) -> bool:
    selector = budget.spec.selector
    return selector is not None and bool(selector.match_labels) and selector.match_labels.items() <= pod.labels.items()
