"""The search for a topology domain that can take a group. `GroupScheduler` tries the members in each domain.

Domains of the narrowest level come first. If none of them can take the group, the next wider level is tried, as long as
the narrower levels are only preferred. Capacity is computed before anything is tried, so domains that cannot take the
group cost next to nothing. If members already have nodes, or a trial gives them a domain, only that domain is tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from ..contract.handle import Clock
from ..contract.status import Status
from ..contract.topology import Favour, NoDomain, Topology
from ..metrics import SchedulerMetrics
from ..model.pod_info import PodInfo
from ..runtime.answers import Failed
from ..runtime.nominator import PodNominator
from ..snapshot.partitions import NONE, Partition, Partitions
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import Rows
from ..work import checkpoint
from .attempt import Attempt
from .domain_order import Counts, DomainCapacity, Numbers, SignatureDemand, capacity_of, closest, in_slices
from .domain_ranking import ByPlacementScore, DomainRanking, PlacementScores, Tightest
from .domain_trial import DomainQuestion, Searched, T, TrialInDomain, Try, restrict_to
from .group_capacity import GroupCapacity
from .node_choice import Choose
from .placed_members import PlacedMembers, domains_at
from .slices import assign, distribute


class DomainSearch:
    """Searches domains. `node_of` returns the node on which a pod, by UID, is counted; `choose` picks one of equals.

    Durations in `metrics` are measured with `clock`.

    Attributes:
        placed: finds the domains of placed members.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        capacity: GroupCapacity,
        node_of: Callable[[str], str | None],
        choose: Choose,
        *,
        nominator: PodNominator,
        clock: Clock,
        metrics: SchedulerMetrics,
    ) -> None:
        self._snapshot = snapshot
        self._capacity = capacity
        self._choose = choose
        self._nominator = nominator
        self._clock = clock
        self._metrics = metrics
        self._partitions = Partitions(snapshot)
        self.placed = PlacedMembers(snapshot, node_of, self._partitions)

    def inside(self, rows: Rows | None) -> DomainSearch:
        """A search that is restricted to these rows; None for all nodes."""
        if rows is None:
            return self
        found = copy(self)
        found._partitions = Partitions(self._snapshot, rows)
        return found

    def within(
        self, topology: Topology, placed: Iterable[PodInfo], waiting: int, attempt: Attempt
    ) -> Sequence[Rows | None] | Status:
        """The sets of rows for a later member, the best first; see `PlacedMembers.within`."""
        capacities = self._capacity.of(attempt.framework, attempt.pod) if topology.slice_size else None
        return self.placed.within(topology, placed, waiting, capacities)

    def search(
        self, topology: Topology, placed: Iterable[PodInfo], attempts: Sequence[Attempt], missing: int, *, try_: Try[T]
    ) -> Searched[T] | Status:
        """Try `attempts`, of which `missing` must fit, in one domain after another.

        A Status if the domain of the placed members cannot be determined, or a plugin failed.
        """
        question = DomainQuestion(topology, [*placed], attempts, missing, try_=try_)
        taken = self.placed.rows_of(topology, question.placed)
        if isinstance(taken, Status):
            return taken
        given = [attempt.domain[:1] for attempt in attempts if attempt.domain is not None]
        taken = np.concatenate([taken, *given])
        question.rank()
        for depth in range(len(topology.levels), topology.required - 1, -1):
            if not depth and not topology.slice_size:
                break
            partition = self._partitions.of(topology.levels[:depth])
            only = domains_at(partition, taken)
            if len(only) > 1 or NONE in only:
                if depth > topology.required:
                    continue
                return self.placed.undetermined(partition, question.placed)
            pinned = next(iter(only), None)
            try:
                found = self._search_level(question, partition, pinned)
            except Failed as failed:
                return failed.status
            if found.no_domain is None or found.trial.error is not None or depth == topology.required:
                return found
        restrict_to(attempts, None)
        return Searched(try_())

    def without_attempts(self, topology: Topology, placed: Iterable[PodInfo]) -> NoDomain:
        """The result for a group of which no pod waits, and which lacks pods in every domain."""
        partition = self._partitions.of(topology.levels[: topology.required])
        only = domains_at(partition, self.placed.rows_by_pod(placed)) - {NONE}
        if absent := self._absent(topology, partition):
            return NoDomain(absent, 0)
        number = next(iter(only), 0)
        return NoDomain(partition.keys, len(only) or len(partition), partition.values[number], pinned=bool(only))

    def _search_level(self, question: DomainQuestion[T], partition: Partition, only: int | None) -> Searched[T]:
        """`only` is the one domain that may be tried; None for all."""
        missing = question.missing
        domains = len(partition) if only is None else 1
        self._metrics.generated_placements.add((question.attempts[0].profile,), domains)
        capacity = self._capacity_in(question, partition)
        checkpoint()
        ranking = self._ranking(question, partition, capacity)
        order = ranking.order(missing)
        if only is not None:
            order = [number for number in order if number == only]
        if len(order) < domains:
            question.leave_out()
        checkpoint()
        tried: list[TrialInDomain[T]] = []
        for number in order:
            trial = self._evaluate(question, partition, number)
            if trial.error is not None:
                return Searched(trial)
            enough = len(trial.placed) >= missing
            is_best = enough and ranking.is_best(number, [attempt.pod for attempt in trial.placed])
            if is_best and not tried:
                return Searched(trial)
            kept = []
            for attempt in question.attempts:
                kept.append(copy(attempt))
                attempt.reset()
                checkpoint()
            tried.append(TrialInDomain(number, trial, kept))
            if is_best:
                break
        fitting = [each for each in tried if len(each.trial.placed) >= missing]
        if fitting:
            best = ranking.best(fitting)
            return Searched(best.restore(question.attempts))
        return self._closest(question, partition, only, capacity, tried=tried)

    def _evaluate(self, question: DomainQuestion[T], partition: Partition, number: int) -> T:
        began = self._clock.now()
        trial = self._try_in(question, partition, number)
        feasible, seconds = len(trial.placed) >= question.missing, self._clock.now() - began
        if trial.error is None:
            self._metrics.placement_evaluated(feasible=feasible, profile=question.attempts[0].profile, seconds=seconds)
        return trial

    def _try_in(self, question: DomainQuestion[T], partition: Partition, number: int) -> T:
        """Try the members in one domain: anywhere in it, or each slice in one part of it.

        If a part takes fewer members than were assigned to it, its capacity counts as at most that number afterwards.
        """
        rows, size = partition.rows[number], question.topology.slice_size
        if not size:
            restrict_to(question.attempts, rows)
            checkpoint()
            return question.try_members()
        parts = self._partitions.of((*partition.keys, question.topology.slice_level))
        count, ranked = len(parts), question.ranked
        within = np.full(len(parts.numbers), NONE, np.intp)
        within[rows] = parts.numbers[rows]
        inside = np.bincount(within[within >= 0], minlength=count) > 0
        in_parts = None if not count else self._count(within, count, question.attempts)
        capacity = np.where(inside, len(ranked), 0) if in_parts is None else in_parts.members
        parts_of_placed = within[self.placed.rows_by_pod(question.placed)]
        placed_in = np.bincount(parts_of_placed[parts_of_placed >= 0], minlength=count)
        own = [self._nominated_part(within, attempt.pod) for attempt in ranked]
        checkpoint()
        while True:
            assigned = assign(len(ranked), size, capacity, placed_in)
            checkpoint()
            wanted = np.bincount(np.array(assigned, np.intp), minlength=count)
            given = [*zip(ranked, distribute(assigned, own), strict=True)]
            for attempt, part in given:
                if part is not None:
                    attempt.state.within = parts.rows[part]
            unassigned = [attempt for attempt, part in given if part is None]
            short = len(assigned) < question.missing and inside.any()
            is_open = inside & ((placed_in + wanted) % size > 0)
            restrict_to(
                unassigned, parts.rows[_part_that_lacks(capacity - wanted, inside, is_open)] if short else rows[:0]
            )
            checkpoint()
            trial = question.try_members()
            if trial.error is not None or len(trial.placed) >= question.missing or short or not count:
                return trial
            placed = {attempt.pod.uid for attempt in trial.placed}
            checkpoint()
            took = np.zeros(count, np.int64)
            for attempt, part in given:
                if part is not None:
                    took[part] += attempt.pod.uid in placed
            full = took < wanted
            if not full.any():
                return trial
            capacity[full] = np.minimum(capacity[full] - 1, took[full])
            checkpoint()

    def _nominated_part(self, parts: Numbers, pod: PodInfo) -> int:
        row = self._snapshot.live_row_of(self._nominator.nominated_node(pod.uid))
        return NONE if row is None else int(parts[row])

    def _closest(
        self,
        question: DomainQuestion[T],
        partition: Partition,
        only: int | None,
        capacity: DomainCapacity | None,
        *,
        tried: Sequence[TrialInDomain[T]],
    ) -> Searched[T]:
        """The result if no domain can take the group: a trial in the domain that takes most members."""
        topology = question.topology
        if tried:
            best = max(tried, key=lambda each: (each.possible, len(each.trial.placed)))
            number, trial = best.number, best.restore(question.attempts)
        else:
            number = NONE
            if len(partition):
                number = only if only is not None else closest(capacity) if capacity is not None else 0
            if number == NONE:
                restrict_to(question.attempts, np.zeros(0, np.intp))
                trial = question.try_()
            else:
                trial = self._evaluate(question, partition, number)
        question.blame()
        if absent := self._absent(topology, partition):
            return Searched(trial, NoDomain(absent, 0))
        values = partition.values[number] if number != NONE else ()
        could = None if capacity is None or number == NONE else int(capacity.members[number])
        slices = f"slices of {topology.slice_size} by {topology.slice_level}" if topology.slice_size else ""
        pinned = only is not None
        domains = 1 if pinned else len(partition)
        return Searched(trial, NoDomain(partition.keys, domains, values, could, slices, pinned))

    def _absent(self, topology: Topology, partition: Partition) -> tuple[str, ...]:
        """Labels that no node has, or that no node has together; empty if there are domains with parts for slices."""
        keys = partition.keys if not topology.slice_size else (*partition.keys, topology.slice_level)
        if len(self._partitions.of(keys)):
            return ()
        return tuple(key for key in keys if not len(self._partitions.of((key,)))) or keys

    def _ranking(
        self, question: DomainQuestion[T], partition: Partition, capacity: DomainCapacity | None
    ) -> DomainRanking:
        attempts = question.attempts
        if capacity is None:
            everywhere = np.full(len(partition), len(attempts), np.int64)
            capacity = DomainCapacity(everywhere, everywhere)
        if question.topology.favour is Favour.TIGHTEST:
            return Tightest(capacity, len(attempts))
        framework = attempts[0].framework
        weights = framework.plugins.placement_weights.values()

        def score(pods: Sequence[PodInfo]) -> Counts:
            return framework.scoring.placements(pods, partition)

        pods = tuple(attempt.pod for attempt in attempts)
        scores = PlacementScores(score, framework.plugins.members_weight, min(weights, default=0) >= 0)
        return ByPlacementScore(capacity, pods, len(question.placed), scores, choose=self._choose)

    def _capacity_in(self, question: DomainQuestion[T], partition: Partition) -> DomainCapacity | None:
        """The capacity of each domain; None if no plugin counts it."""
        topology, demands = question.topology, self._demands(question.attempts)
        if demands is None:
            return None
        if not topology.slice_size:
            return capacity_of(partition.numbers, len(partition), demands)
        parts = self._partitions.of((*partition.keys, topology.slice_level))
        taken = parts.numbers[self.placed.rows_by_pod(question.placed)]
        running = np.bincount(taken[taken >= 0], minlength=len(parts))
        return in_slices(
            partition.numbers, len(partition), parts.numbers, running, demands=demands, size=topology.slice_size
        )

    def _count(self, numbers: Numbers, domains: int, attempts: Sequence[Attempt]) -> DomainCapacity | None:
        demands = self._demands(attempts)
        return None if demands is None else capacity_of(numbers, domains, demands)

    def _demands(self, attempts: Sequence[Attempt]) -> list[SignatureDemand] | None:
        """The demand of each signature, with the nodes' capacity for it; None if no plugin counts capacity."""
        counts = Counter(attempt.pod.signature for attempt in attempts)
        examples = {attempt.pod.signature: attempt for attempt in attempts}
        demands = []
        for signature, count in counts.items():
            capacities = self._capacity.of(examples[signature].framework, examples[signature].pod)
            if capacities is None:
                return None
            demands.append(SignatureDemand(count, capacities))
        return demands


def _part_that_lacks(left: Counts, inside: npt.NDArray[np.bool_], is_open: npt.NDArray[np.bool_]) -> int:
    """The part in which members are tried that were assigned none, to learn what rejects them.

    An open slice that lacks capacity, because they have to wait for that; else the part with the most `left`.
    """
    if is_open.any():
        return int(np.where(is_open, left, left.max() + 1).argmin())
    return int(np.where(inside, left, -1).argmax())
