"""Which pods to evict so that all members that a group lacks fit: one trial for the whole group.

Several scenarios are tried, each a set of pods that are removed: the cheapest set by the estimate, then everything that
may be evicted on the same nodes, on more and more nodes, and everywhere. In each scenario the group is scheduled as
usual. If it fits, victims are reprieved one by one, the most important first, against the placement found (upstream:
`PodGroupEvaluator`, which tries only the last scenario). The cheapest result is taken, the last one of equally cheap
ones, and everything is undone. For a group that is to have all members that fit, more members come before less cost.

A group that still has to get a domain gets the one in which it is scheduled without all pods that may be evicted, as in
kube-scheduler. So that is found out first, and each scenario is one of that domain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from muster.framework.contract import (
    Domains,
    EvictionRule,
    Placed,
    PodGroupInfo,
    PodGroupTrial,
    PodInfo,
    PreemptionHandle,
    Status,
    TrialFailed,
    Victims,
    checkpoint,
)
from muster.framework.model.pod_info import PodSignature

from .budgets import DisruptionBudgets
from .candidates import LOWEST_PRIORITY
from .cheapest import Estimate, Evictable, evictable
from .units import Units
from .victims import Victim, by_importance, reprieve_order, without_violations

NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming preemptor")

_WIDER = 4
"""The factor by which each scenario looks for more capacity than the one before."""
_FEW = 512
"""Up to this number of pods, the result without all of them is compared with the others."""

T = TypeVar("T")
Cost = tuple[int, int, int, int]
Estimates = Sequence[tuple[int, Estimate]]
"""For each signature, the number of members and the estimate for them."""


@dataclass(frozen=True, slots=True)
class GroupPreemption:
    """The evictions for a group, and the placement that they make possible.

    Attributes:
        placement: the members with the nodes that they are to get.
        victims: the pods to evict, most important first.
        violations: the number of them whose eviction violates a PodDisruptionBudget.
        disruptions: the number of groups that are evicted as a whole, and of pods of other groups.
        cost: violations, the highest priority, the sum of priorities, and the number of victims; less is better.
    """

    placement: Sequence[Placed]
    victims: Sequence[Placed]
    violations: int
    disruptions: int
    cost: Cost

    def victims_by_node(self, budgets: DisruptionBudgets) -> dict[str, Victims]:
        """The victims on each node of the placement, with victims on other nodes that are evicted with them."""
        used = {placed.node_name for placed in self.placement}
        elsewhere = [placed.pod for placed in self.victims if placed.node_name not in used]
        found: dict[str, list[PodInfo]] = {}
        for pod, node_name in self.victims:
            if node_name in used:
                found.setdefault(node_name, []).append(pod)
        going = {node_name: (*pods, *elsewhere) for node_name, pods in found.items()}
        return {node_name: Victims(pods, sum(budgets.violations([pods]))) for node_name, pods in going.items()}


class GroupSearch:
    """Searches the cheapest evictions for one group.

    `units` knows which pods are evicted together, `rule` which of them may be.
    """

    def __init__(
        self,
        handle: PreemptionHandle,
        group: PodGroupInfo,
        trial: PodGroupTrial,
        budgets: DisruptionBudgets,
        *,
        units: Units,
        rule: EvictionRule,
    ) -> None:
        self._snapshot = handle.snapshot
        self._nominator = handle.nominator
        self._group = group
        self._trial = trial
        self._budgets = budgets
        self._units = units
        self._rule = rule
        self._broken: dict[str, Status] = {}
        self._domains: Domains | None = None
        self._rejection: Status | None = None

    def run(self) -> GroupPreemption | Status:
        """The plan, or the reason why the group does not fit even if all pods that it may evict are gone.

        The plan has no victims if only nominations of the group's own members prevent it from fitting.
        """
        if self._is_nominated():
            found = self._try(())
            if isinstance(found, GroupPreemption):
                return found
        with self._trial.scenario():
            everything, estimates = self._estimate()
        pods = everything
        if not pods.pods:
            return NO_VICTIMS
        if self._group.chooses_domain:
            pods, estimates = self._choose_domains(everything, estimates)
        best: GroupPreemption | None = None
        rejection: Status = self._rejection or NO_VICTIMS
        for chosen in self._scenarios(pods, estimates):
            if chosen is None:
                checkpoint()
                continue
            if self._rejection is not None and len(chosen) == len(pods.pods):
                rejection = self._rejection
                continue
            found = self._without([pods.pods[position] for position in sorted(chosen)], self._try)
            if isinstance(found, Status):
                rejection = found
                continue
            best = found if best is None else min(found, best, key=self._rank)
            if len(pods.pods) > _FEW and len(found.placement) >= self._wanted:
                break
        if best is None and pods is not everything:
            found = self._without(everything.pods, self._try)
            best = found if isinstance(found, GroupPreemption) else None
        if best is not None:
            return best
        return next(iter(self._broken.values()), rejection)

    def _rank(self, plan: GroupPreemption) -> tuple[int, Cost]:
        """The sort key, which puts the best plan first: the most members that are wanted, then the least cost."""
        return -len(plan.placement) if self._group.all_that_fit else 0, plan.cost

    def _choose_domains(self, pods: Evictable, estimates: Estimates) -> tuple[Evictable, Estimates]:
        """Settle the domains: those that the group gets without all of these pods. Returns what may be evicted there.

        kube-scheduler chooses domains by their scores without these pods, however many have to be evicted there.
        """
        found = self._without(pods.pods, self._find_domains)
        if isinstance(found, Status):
            self._rejection = found
            return pods, estimates
        self._domains = found
        with self._trial.scenario(found):
            inside, estimates_inside = self._estimate()
        return (inside, estimates_inside) if inside.pods else (pods, estimates)

    def _find_domains(self, victims: Sequence[Victim]) -> Domains | Status:
        """The domains that the group gets without these victims; the status if it does not fit, or a plugin failed."""
        return self._scheduled_without(victims, lambda: self._trial.domains)

    @property
    def _members(self) -> Sequence[PodInfo]:
        """The members for which pods may be evicted: those that fit in the chosen domains, if any are chosen."""
        members, domains = self._group.members, self._domains
        return members if domains is None else [pod for pod in members if pod.uid in domains]

    @property
    def _wanted(self) -> int:
        """The number of them that are to get a node."""
        return min(self._group.wanted, len(self._members))

    # The scenarios.

    def _is_nominated(self) -> bool:
        return self._nominator.any_nominated([pod.uid for pod in self._group.members])

    def _estimate(self) -> tuple[Evictable, Estimates]:
        """The pods that may be evicted, and for each signature the number of members and the estimate.

        Pods may be evicted for any of the members: those on nodes that a member could use, or on all nodes if pods
        elsewhere can keep a member from its node. The estimate is for as many as have to get a node, without those that
        no eviction helps.
        """
        snapshot, members = self._snapshot, self._members
        alike: dict[PodSignature, list[PodInfo]] = {}
        for each in members:
            alike.setdefault(each.signature, []).append(each)
        rows = {}
        useful = np.zeros(snapshot.height, np.bool_)
        useful[self._trial.rows_in_all] = True
        for signature, pods in alike.items():
            rows[signature] = self._trial.rows(pods)
            for some in rows[signature]:
                useful[some] = True
            checkpoint()
        if self._trial.pods_anywhere_matter:
            useful[snapshot.live_rows()] = True
        found = evictable(
            snapshot,
            np.flatnonzero(useful).tolist(),
            self._rule,
            self._units,
            protected=self._budgets.protect,
        )
        if not found.pods:
            return found, []
        nominees = self._nominees(np.unique(found.rows).tolist())
        estimates = []
        helped = [each.signature for each in members if any(map(len, rows[each.signature]))]
        for signature, count in Counter(helped[: self._wanted]).items():
            now, perhaps = rows[signature]
            member = alike[signature][0]
            estimate = Estimate(snapshot, found, member, now=now, perhaps=perhaps, nominees=nominees)
            estimates.append((count, estimate))
        return found, estimates

    def _nominees(self, rows: Iterable[int]) -> dict[int, list[PodInfo]]:
        """Nominated pods of others, by row, for which the group has to leave capacity."""
        nominator, names, priority = self._nominator, self._snapshot.names, self._group.priority
        found: dict[int, list[PodInfo]] = {}
        for row in rows:
            for pod in nominator.nominated_pods(names[row]):
                if nominator.priority_of(pod) >= priority:
                    found.setdefault(row, []).append(pod)
        return found

    def _scenarios(self, pods: Evictable, estimates: Estimates) -> Iterator[Collection[int] | None]:
        """The scenarios, with ever more capacity: positions of pods to remove. None at each checkpoint in between."""
        seen: set[frozenset[int]] = set()
        share = 1
        while True:
            taken: set[int] = set()
            chosen: set[int] = set()
            for count, estimate in estimates:
                for some in estimate.choose(max(1, count - estimate.idle) * share, taken):
                    chosen.update(some)
                    yield None
            on_rows = np.flatnonzero(np.isin(pods.rows, list(taken))).tolist()
            for some in (chosen, on_rows):
                key = frozenset(some)
                if key and key not in seen:
                    seen.add(key)
                    yield some
            share *= _WIDER
            if share * self._group.wanted > _WIDER * self._snapshot.height:
                break
        everything = frozenset(range(len(pods.pods)))
        if everything not in seen:
            yield everything

    # One scenario.

    def _without(self, pods: Sequence[Placed], try_: Callable[[Sequence[Victim]], T | Status]) -> T | Status:
        """Try without these pods. If a plugin fails at their removal or return, leave the pods of that node alone."""
        while True:
            checkpoint()
            left = [placed for placed in pods if placed.node_name not in self._broken]
            if not left:
                return NO_VICTIMS
            victims = without_violations(self._units.victims_among(left, self._rule), self._rule, self._budgets)
            if not victims:
                return NO_VICTIMS
            broken = len(self._broken)
            found = try_(victims)
            if len(self._broken) == broken:
                return found

    def _try(self, victims: Sequence[Victim]) -> GroupPreemption | Status:
        """Try the group without these victims, then reprieve some."""
        return self._scheduled_without(victims, lambda: self._reprieve(victims))

    def _scheduled_without(self, victims: Sequence[Victim], then: Callable[[], T]) -> T | Status:
        """The result of `then` if the group fits without these victims; the ERROR of a plugin that failed meanwhile."""
        trial = self._trial
        try:
            with trial.scenario(self._domains):
                for victim in victims:
                    self._remove(victim.pods)
                found = trial.schedule(self._group.members)
                return then() if found is None else found
        except TrialFailed as failed:
            return failed.status

    def _reprieve(self, victims: Sequence[Victim]) -> GroupPreemption:
        trial = self._trial
        placement = tuple(trial.assignments)
        used = {placed.node_name for placed in placement}
        checkpoint()
        reprieve = reprieve_order(victims, self._budgets)
        checkpoint()
        turns = list(zip(reprieve.order, reprieve.violations, strict=True))
        lost = self._halve(turns) if trial.depends_on_cluster else self._one_by_one(turns, used)
        lost = self._spare(lost, used)
        violations = sum(count for _, count in lost)
        gone = by_importance(victim for victim, _ in lost)
        pods = [placed for victim in gone for placed in victim.pods]
        priorities = [victim.priority for victim in gone for _ in victim.pods]
        highest = max(priorities, default=-LOWEST_PRIORITY)
        cost = violations, highest, sum(priority + LOWEST_PRIORITY for priority in priorities), len(pods)
        return GroupPreemption(placement, pods, violations, sum(victim.group for victim in gone), cost)

    def _one_by_one(self, turns: Sequence[tuple[Victim, int]], used: Collection[str]) -> list[tuple[Victim, int]]:
        """For filters that read no pods on other nodes: only the members on a victim's nodes can conflict with it."""
        lost = []
        for victim, violations in turns:
            self._add(victim.pods)
            nodes = {placed.node_name for placed in victim.pods}.intersection(used)
            if not self._trial.fits(nodes, returned_to=nodes):
                self._remove(victim.pods)
                lost.append((victim, violations))
        return lost

    def _halve(self, turns: Sequence[tuple[Victim, int]]) -> list[tuple[Victim, int]]:
        """Reprieve all at once if all may stay, or else the more important half and then the other."""
        checkpoint()
        for victim, _ in turns:
            self._add(victim.pods)
        if self._trial.fits(returned_to={placed.node_name for victim, _ in turns for placed in victim.pods}):
            return []
        for victim, _ in turns:
            self._remove(victim.pods)
        if len(turns) == 1:
            return list(turns)
        middle = (len(turns) + 1) // 2
        first = self._halve(turns[:middle])
        second = self._halve(turns[middle:])
        return [*first, *second]

    def _spare(self, lost: Sequence[tuple[Victim, int]], used: Collection[str]) -> list[tuple[Victim, int]]:
        """Evict only the members that a group can spare, if they suffice, instead of the whole group."""
        kept: list[tuple[Victim, int]] = []
        for victim, violations in lost:
            if not victim.spare:
                kept.append((victim, violations))
                continue
            going = victim.spared(used)
            gone = {each.pods[0].pod.uid for each in going}
            staying = [placed for placed in victim.pods if placed.pod.uid not in gone]
            self._add(staying)
            if self._trial.fits():
                counts = self._budgets.violations([each.members for each in going])
                kept += self._halve(list(zip(going, counts, strict=True)))
            else:
                self._remove(staying)
                kept.append((victim, violations))
        return kept

    def _add(self, pods: Iterable[Placed]) -> None:
        for placed in pods:
            self._change(self._trial.add_pod, placed)
            checkpoint()

    def _remove(self, pods: Iterable[Placed]) -> None:
        for placed in pods:
            self._change(self._trial.remove_pod, placed)
            checkpoint()

    def _change(self, change: Callable[[PodInfo, str], None], placed: Placed) -> None:
        try:
            change(placed.pod, placed.node_name)
        except TrialFailed as failed:
            self._broken.setdefault(placed.node_name, failed.status)
            raise
