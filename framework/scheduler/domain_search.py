"""The search for a topology domain that can take a group. The group cycle starts it, and tries members in each domain.

Domains of the narrowest level come first. If none of them can take the group, the next wider level is tried, as long as
the narrower levels are only preferred. Capacity is computed before anything is tried, so domains that cannot take the
group cost next to nothing. If members already have nodes, only their domain is tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from ..contract.handle import Clock
from ..contract.status import Status
from ..contract.topology import Favour, NoDomain, Topology, rank
from ..metrics import SchedulerMetrics
from ..model.pod_info import PodInfo
from ..runtime.answers import Failed
from ..snapshot.partitions import NONE, Partition, Partitions
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import Rows
from ..work import checkpoint
from .attempt import Attempt
from .domain_order import Counts, DomainRoom, Numbers, SignatureDemand, closest, in_slices, room_of
from .domain_ranking import ByPlacementScore, DomainRanking, Tightest
from .group_room import GroupRoom
from .node_choice import Choose
from .slices import assign


class DomainTrial(Protocol):
    """What came of trying members."""

    @property
    def placed(self) -> Sequence[Attempt]:
        """The members that fit."""
        ...


T = TypeVar("T", bound=DomainTrial)
Try = Callable[[], T]
"""Try the members where their attempts' states say; yields where other work may be done."""


@dataclass(frozen=True, slots=True)
class Searched(Generic[T]):
    """What the search came to.

    Attributes:
        trial: the trial in the domain that took the group, else in the one that came closest.
        no_domain: why there is none, if the members had to be together in one.
    """

    trial: T
    no_domain: NoDomain | None = None


@dataclass(frozen=True, slots=True)
class _InDomain(Generic[T]):
    """A trial in a domain, and the attempts as they were after it."""

    number: int
    trial: T
    attempts: Sequence[Attempt]

    @property
    def placed(self) -> Sequence[PodInfo]:
        """The members that fit."""
        return tuple(attempt.pod for attempt in self.trial.placed)

    def resume(self, attempts: Sequence[Attempt]) -> T:
        """Have the attempts say again what they said after this trial."""
        for attempt, kept in zip(attempts, self.attempts, strict=True):
            attempt.resume(kept)
            checkpoint()
        return self.trial


class _Asked(Generic[T]):
    """What one search was asked for.

    Attributes:
        topology: where members have to be together.
        placed: members that hold a node already.
        attempts: those to be tried.
        missing: how many of them must fit.
        try_: tries them where their states say.
        ranked: the attempts in the order in which slices take them; empty where there are no slices.
        rejectors: plugins that turned any of them away in any domain.
    """

    __slots__ = ("attempts", "missing", "placed", "ranked", "rejectors", "topology", "try_")

    def __init__(
        self, topology: Topology, placed: Sequence[PodInfo], attempts: Sequence[Attempt], missing: int, try_: Try[T]
    ) -> None:
        self.topology = topology
        self.placed = placed
        self.attempts = attempts
        self.missing = missing
        self.try_ = try_
        self.ranked: Sequence[Attempt] = ()
        self.rejectors: set[str] = set()

    def try_members(self) -> T:
        """Try them where their states say, and note who turns any of them away."""
        trial = self.try_()
        for attempt in self.attempts:
            self.rejectors |= attempt.rejectors
            checkpoint()
        return trial

    def leave_out(self) -> None:
        """A domain is not tried, for want of room by the count."""
        for attempt in self.attempts:
            self.rejectors |= attempt.framework.plugins.capacity_names

    def blame(self) -> None:
        """No domain took them: an event of any plugin that turned one away in any domain may help them all."""
        for attempt in self.attempts:
            if attempt.status is not None:
                attempt.rejectors |= self.rejectors
            checkpoint()

    def rank(self) -> None:
        """Work out `ranked`, if it is needed."""
        if not self.topology.slice_size:
            return
        ranks = {}
        for attempt in self.attempts:
            ranks[attempt.pod.uid] = rank(attempt.pod)
            checkpoint()
        self.ranked = sorted(self.attempts, key=lambda attempt: ranks[attempt.pod.uid])
        checkpoint()


class DomainSearch:
    """Searches. `node_of` gives the node that a pod, by UID, is counted on; of equals one is taken by `choose`.

    What `metrics` is told goes by `clock`.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        room: GroupRoom,
        node_of: Callable[[str], str | None],
        choose: Choose,
        clock: Clock,
        metrics: SchedulerMetrics,
    ) -> None:
        self._snapshot = snapshot
        self._room = room
        self._node_of = node_of
        self._choose = choose
        self._clock = clock
        self._metrics = metrics
        self._partitions = Partitions(snapshot)

    def inside(self, rows: Rows | None) -> DomainSearch:
        """A search for domains within these rows alone; None for all nodes."""
        if rows is None:
            return self
        found = copy(self)
        found._partitions = Partitions(self._snapshot, rows)
        return found

    def search(
        self, topology: Topology, placed: Iterable[PodInfo], attempts: Sequence[Attempt], missing: int, try_: Try[T]
    ) -> Searched[T] | Status:
        """Try `attempts`, of which `missing` must fit, in one domain after another; a Status when none can be named."""
        asked = _Asked(topology, [*placed], attempts, missing, try_)
        taken = self._rows_of(asked.placed)
        asked.rank()
        for depth in range(len(topology.levels), topology.required - 1, -1):
            if not depth and not topology.slice_size:
                break
            partition = self._partitions.of(topology.levels[:depth])
            only = _domains_at(partition, taken)
            if len(only) > 1 or NONE in only:
                if depth > topology.required:
                    continue
                return self._undetermined(partition, asked.placed)
            pinned = next(iter(only), None)
            try:
                found = self._search_level(asked, partition, pinned)
            except Failed as failed:
                return failed.status
            if found.no_domain is None or depth == topology.required:
                return found
        _hold(attempts, None)
        return Searched(try_())

    def within(self, topology: Topology, placed: Iterable[PodInfo]) -> Sequence[Rows | None] | Status:
        """Where a member that comes later may go: the domains that all placed members are in, the narrowest first.

        All but the last are preferences. None stands for anywhere; a Status says that none can be named. Without a
        required level, members in slices still go to parts of the whole cluster.
        """
        holding = [*placed]
        taken = self._rows_of(holding)
        if not len(taken):
            return [None]
        found: list[Rows | None] = []
        widest = topology.required if topology.slice_size else max(topology.required, 1)
        for depth in range(len(topology.levels), widest - 1, -1):
            partition = self._partitions.of(topology.levels[:depth])
            only = _domains_at(partition, taken)
            if len(only) == 1 and NONE not in only:
                found.append(self._beside_open_slices(topology, partition, partition.rows[only.pop()], holding))
            elif depth == topology.required:
                return self._undetermined(partition, holding)
        return found if topology.required or topology.slice_size else [*found, None]

    def _beside_open_slices(
        self, topology: Topology, partition: Partition, rows: Rows, placed: Sequence[PodInfo]
    ) -> Rows:
        """Of the rows of a domain those of parts in which a slice is not whole; of all parts where there is none."""
        if not topology.slice_size:
            return rows
        parts = self._partitions.of((*partition.keys, topology.slice_level))
        on = parts.numbers[self._rows_by_pod(placed)]
        is_open = np.bincount(on[on >= 0], minlength=len(parts)) % topology.slice_size > 0
        in_parts = rows[parts.numbers[rows] >= 0]
        found = in_parts[is_open[parts.numbers[in_parts]]]
        return found if len(found) else in_parts

    def _search_level(self, asked: _Asked[T], partition: Partition, only: int | None) -> Searched[T]:
        """`only` is the one domain that may be tried; None for all."""
        missing = asked.missing
        domains = len(partition) if only is None else 1
        self._metrics.generated_placements.add((asked.attempts[0].profile,), domains)
        room = self._room_in(asked, partition)
        checkpoint()
        ranking = self._ranking(asked, partition, room)
        order = ranking.order(missing)
        if only is not None:
            order = [number for number in order if number == only]
        if len(order) < domains:
            asked.leave_out()
        checkpoint()
        tried: list[_InDomain[T]] = []
        for number in order:
            trial = self._evaluate(asked, partition, number)
            enough = len(trial.placed) >= missing
            is_best = enough and ranking.is_best(number, [attempt.pod for attempt in trial.placed])
            if is_best and not tried:
                return Searched(trial)
            kept = []
            for attempt in asked.attempts:
                kept.append(copy(attempt))
                checkpoint()
            tried.append(_InDomain(number, trial, kept))
            if is_best:
                break
        fitting = [each for each in tried if len(each.trial.placed) >= missing]
        if fitting:
            best = ranking.best(fitting)
            return Searched(best.resume(asked.attempts))
        return self._closest(asked, partition, only, room, tried)

    def _evaluate(self, asked: _Asked[T], partition: Partition, number: int) -> T:
        began = self._clock.now()
        trial = self._try_in(asked, partition, number)
        feasible, seconds = len(trial.placed) >= asked.missing, self._clock.now() - began
        self._metrics.placement_evaluated(feasible=feasible, profile=asked.attempts[0].profile, seconds=seconds)
        return trial

    def _try_in(self, asked: _Asked[T], partition: Partition, number: int) -> T:
        """Try the members in one domain: anywhere in it, or each slice in one part of it.

        A part that did not take what it had room for by the count is believed to take no more than it took.
        """
        rows, size = partition.rows[number], asked.topology.slice_size
        if not size:
            _hold(asked.attempts, rows)
            checkpoint()
            return asked.try_members()
        parts = self._partitions.of((*partition.keys, asked.topology.slice_level))
        count, ranked = len(parts), asked.ranked
        within = np.full(len(parts.numbers), NONE, np.intp)
        within[rows] = parts.numbers[rows]
        inside = np.bincount(within[within >= 0], minlength=count) > 0
        in_parts = None if not count else self._count(within, count, asked.attempts)
        room = np.where(inside, len(ranked), 0) if in_parts is None else in_parts.members
        held_on = within[self._rows_by_pod(asked.placed)]
        held = np.bincount(held_on[held_on >= 0], minlength=count)
        checkpoint()
        while True:
            assigned = assign(len(ranked), size, room, held)
            checkpoint()
            wanted = np.bincount(np.array(assigned, np.intp), minlength=count)
            for attempt, part in zip(ranked, assigned, strict=False):
                attempt.state.within = parts.rows[part]
            unheld = ranked[len(assigned) :]
            short = len(assigned) < asked.missing and inside.any()
            _hold(unheld, parts.rows[int(np.where(inside, room - wanted, -1).argmax())] if short else rows[:0])
            checkpoint()
            trial = asked.try_members()
            if len(trial.placed) >= asked.missing or short or not count:
                return trial
            placed = {attempt.pod.uid for attempt in trial.placed}
            checkpoint()
            took = np.zeros(count, np.int64)
            for attempt, part in zip(ranked, assigned, strict=False):
                took[part] += attempt.pod.uid in placed
            full = took < wanted
            if not full.any():
                return trial
            room[full] = np.minimum(room[full] - 1, took[full])
            checkpoint()

    def _closest(
        self,
        asked: _Asked[T],
        partition: Partition,
        only: int | None,
        room: DomainRoom | None,
        tried: Sequence[_InDomain[T]],
    ) -> Searched[T]:
        """No domain can take the group: what comes of trying the one that comes closest."""
        topology = asked.topology
        if tried:
            best = max(tried, key=lambda each: len(each.trial.placed))
            number, trial = best.number, best.resume(asked.attempts)
        else:
            number = NONE
            if len(partition):
                number = only if only is not None else closest(room) if room is not None else 0
            if number == NONE:
                _hold(asked.attempts, np.zeros(0, np.intp))
                trial = asked.try_()
            else:
                trial = self._evaluate(asked, partition, number)
        asked.blame()
        if absent := self._absent(topology, partition):
            return Searched(trial, NoDomain(absent, 0))
        values = partition.values[number] if number != NONE else ()
        could = None if room is None or number == NONE else int(room.members[number])
        slices = f"slices of {topology.slice_size} by {topology.slice_level}" if topology.slice_size else ""
        pinned = only is not None
        domains = 1 if pinned else len(partition)
        return Searched(trial, NoDomain(partition.keys, domains, values, could, slices, pinned))

    def _absent(self, topology: Topology, partition: Partition) -> tuple[str, ...]:
        """Labels that no node has, or that no node has together; empty where domains with parts for slices exist."""
        keys = partition.keys if not topology.slice_size else (*partition.keys, topology.slice_level)
        if len(self._partitions.of(keys)):
            return ()
        return tuple(key for key in keys if not len(self._partitions.of((key,)))) or keys

    def _ranking(self, asked: _Asked[T], partition: Partition, room: DomainRoom | None) -> DomainRanking:
        attempts = asked.attempts
        if room is None:
            everywhere = np.full(len(partition), len(attempts), np.int64)
            room = DomainRoom(everywhere, everywhere)
        if asked.topology.favour is Favour.TIGHTEST:
            return Tightest(room, len(attempts))
        framework = attempts[0].framework

        def score(pods: Sequence[PodInfo]) -> Counts:
            return framework.scoring.placements(pods, partition)

        pods = tuple(attempt.pod for attempt in attempts)
        return ByPlacementScore(room, pods, len(asked.placed), score, self._choose)

    def _room_in(self, asked: _Asked[T], partition: Partition) -> DomainRoom | None:
        """Room by domain; None when nobody counts it."""
        topology, demands = asked.topology, self._demands(asked.attempts)
        if demands is None:
            return None
        if not topology.slice_size:
            return room_of(partition.numbers, len(partition), demands)
        parts = self._partitions.of((*partition.keys, topology.slice_level))
        return in_slices(partition.numbers, len(partition), parts.numbers, len(parts), demands, topology.slice_size)

    def _count(self, numbers: Numbers, domains: int, attempts: Sequence[Attempt]) -> DomainRoom | None:
        demands = self._demands(attempts)
        return None if demands is None else room_of(numbers, domains, demands)

    def _demands(self, attempts: Sequence[Attempt]) -> list[SignatureDemand] | None:
        """What members could find where; None when nobody counts room."""
        counts = Counter(attempt.pod.signature for attempt in attempts)
        examples = {attempt.pod.signature: attempt for attempt in attempts}
        demands = []
        for signature, count in counts.items():
            capacities = self._room.of(examples[signature].framework, examples[signature].pod)
            if capacities is None:
                return None
            demands.append(SignatureDemand(count, capacities))
        return demands

    def _rows_of(self, placed: Iterable[PodInfo]) -> Rows:
        """The rows of the nodes that these pods are on, each once."""
        return np.array(sorted(set(self._rows_by_pod(placed).tolist())), np.intp)

    def _rows_by_pod(self, placed: Iterable[PodInfo]) -> Rows:
        """The row of the node of each pod, as far as the node is there."""
        return np.array([row for pod in placed if (row := self._row_of(pod)) is not None], np.intp)

    def _row_of(self, pod: PodInfo) -> int | None:
        return self._snapshot.live_row_of(self._node_of(pod.uid) or pod.node_name)

    def _undetermined(self, partition: Partition, placed: Sequence[PodInfo]) -> Status:
        """kube-scheduler's text for members that run in several domains, or in none."""
        numbers = {pod.key: int(partition.numbers[row]) for pod in placed if (row := self._row_of(pod)) is not None}
        outside = [pod for pod, number in numbers.items() if number == NONE]
        if outside:
            what = f"no topology domain found for pod {min(outside)}"
        else:
            first, second, *_ = ("/".join(partition.values[number]) for number in sorted({*numbers.values()}))
            what = f"more than 1 domain found for pod group: {first}, {second}"
        return Status.failure(f"cannot determine domain for already scheduled pods: {what}")


def _hold(attempts: Iterable[Attempt], within: Rows | None) -> None:
    for attempt in attempts:
        attempt.state.within = within


def _domains_at(partition: Partition, taken: Rows) -> set[int]:
    return set(partition.numbers[taken].tolist())
