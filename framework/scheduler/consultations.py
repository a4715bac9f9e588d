"""Consultations: pods that interest an extender are set aside while extenders are called, and decided afterwards.

The scheduler adds pods before it decides them, and gets them back from `next`. In between they are in flight: other
pods are decided and bound, however long an extender takes. The questions are computed within a step, when no trial is
in progress; answers are only stored until the next step. The number of pods in consultation is limited; further pods
wait here in the order of the queue.

An extender may choose one node for each member of a group and know nothing of the rules by which the plugins reject it
once other members are on it. Such members are asked about again, with the nodes that fit beside the others, as long as
more members find nodes. Extenders that bind often reserve what they allow, so they are asked about one group at a time:
two groups that each got a part of what is left would wait for one another.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from ..contract.extender import Extender
from ..contract.status import Status
from ..model.pod_info import PodInfo
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime.consultation import Consultation, RepeatedQuestions
from .algorithm import Algorithm
from .attempt import Attempt
from .extenders import consult, interested, process_preemption
from .node_choice import feasible_nodes_to_find, first_from
from .ports import Ports

log = logging.getLogger(__name__)

AT_ONCE = 16
ROUNDS_IN_VAIN = 5
"""How many rounds in a row may place no further member of a group before it is decided with the answers so far."""
_Ask = Callable[[PodInfo, Consultation], Awaitable[None]]


@dataclass(slots=True, eq=False)
class SetAsideAttempts:
    """Attempts of pods that are set aside and decided together later; `group` is None for a single pod."""

    profile: str
    group: str | None
    attempts: Sequence[Attempt]


class Consultations:
    """Pods of all profiles about which extenders are asked. `algorithms` has each profile's, by schedulerName.

    Extenders are asked in the order of the queue, last about pods without a sort key.
    """

    def __init__(self, algorithms: Mapping[str, Algorithm], queue: SchedulingQueue, ports: Ports) -> None:
        self._algorithms = algorithms
        self._queue = queue
        self._ports = ports
        self._extenders: Sequence[Extender] = [each for each in ports.extenders if _decides(each)]
        self._reserving = [each for each in self._extenders if each.is_binder]
        self._turn: str | None = None
        self._asked: set[str] = set()
        self._waiting: list[tuple[object, int, SetAsideAttempts]] = []
        self._numbers = count()
        self._under_way = 0
        self._ready: deque[SetAsideAttempts] = deque()

    def are_due(self, attempts: Sequence[Attempt]) -> bool:
        """Whether an extender is interested in one of these pods."""
        return bool(self._extenders) and any(interested(self._extenders, attempt.pod) for attempt in attempts)

    def add(self, kept: SetAsideAttempts) -> None:
        """Set these pods aside until their extenders have answered."""
        key = self._queue.sort_key(kept.attempts[0].queued)
        sort_key = (1,) if isinstance(key, Status) else (0, *((isinstance(each, str), each) for each in key))
        heapq.heappush(self._waiting, (sort_key, next(self._numbers), kept))

    def next(self) -> SetAsideAttempts | None:
        """The next pods to decide; None if there are none. Also starts consultations of pods whose turn has come."""
        if self._turn not in self._asked:
            self._turn = None
        out_of_turn = []
        try:
            while self._waiting and self._under_way < AT_ONCE:
                entry = heapq.heappop(self._waiting)
                kept = entry[2]
                if not self._take_turn(kept):
                    out_of_turn.append(entry)
                elif not self._begin(kept):
                    return kept
        finally:
            for entry in out_of_turn:
                heapq.heappush(self._waiting, entry)
        while self._ready:
            kept = self._ready.popleft()
            if not self._is_incomplete(kept):
                self._asked.discard(kept.group or "")
                return kept
        return None

    def _take_turn(self, kept: SetAsideAttempts) -> bool:
        """Whether extenders may be asked about these pods now. A turn ends with the decision on its group."""
        if kept.group is None or not any(interested(self._reserving, each.pod) for each in kept.attempts):
            return True
        if self._turn is not None:
            return False
        self._turn = kept.group
        return True

    def reopen_if_needed(self, attempt: Attempt) -> bool:
        """Discard the decision and ask again if extenders have to be asked first; whether that was so."""
        consultation = attempt.state.consultation
        if consultation is None:
            return False
        if attempt.state.nodes_to_ask is not None:
            attempt.reset()
            attempt.state.consultation = None
            self.add(SetAsideAttempts(attempt.profile, None, [attempt]))
            return True
        if consultation.preemption is None or consultation.evictions is not None:
            return False
        attempt.reset()
        self._spawn(SetAsideAttempts(attempt.profile, None, [attempt]), [attempt], self._ask_about_evictions)
        return True

    def ask_for_group(self, kept: SetAsideAttempts) -> None:
        """Ask the open questions for a group, which is then decided again: about nodes, else about evictions."""
        again = [attempt for attempt in kept.attempts if attempt.state.nodes_to_ask]
        for attempt in again:
            attempt.state.consultation = _about_other_nodes(attempt)
        for attempt in kept.attempts:
            attempt.reset()
        if again:
            self._spawn(kept, again, self._ask_about_nodes)
        else:
            self._spawn(kept, kept.attempts, self._ask_if_cleared)

    def _begin(self, kept: SetAsideAttempts) -> bool:
        """Ask about the nodes that fit each pod now. False if there is nothing to ask."""
        about = [
            attempt
            for attempt in kept.attempts
            if attempt.state.consultation is None and interested(self._extenders, attempt.pod)
        ]
        return self._ask(kept, about)

    def _is_incomplete(self, kept: SetAsideAttempts) -> bool:
        """Whether extenders rejected a nominated node, so that they are now asked about all other nodes."""
        rejected = []
        for attempt in kept.attempts:
            consultation = attempt.state.consultation
            if consultation is not None and consultation.only_nominated and not consultation.node_names:
                attempt.state.consultation = None
                rejected.append(attempt)
        return self._ask(kept, rejected, nominated_first=False)

    def _ask(self, kept: SetAsideAttempts, about: Sequence[Attempt], *, nominated_first: bool = True) -> bool:
        for attempt in about:
            attempt.state.consultation = self._question(attempt, kept.group is not None, nominated_first)
            attempt.reset()
        consultations = [attempt.state.consultation for attempt in about]
        needed = any(each.consulted_nodes for each in consultations if each is not None)
        if needed:
            self._spawn(kept, about, self._ask_about_nodes)
        return needed

    def _question(self, attempt: Attempt, everywhere: bool, nominated_first: bool) -> Consultation:
        """The question about the nodes that fit the pod now, or about as many as kube-scheduler would ask."""
        algorithm = self._algorithms[attempt.profile]
        found = algorithm.find_nodes_that_fit(attempt.state, attempt.pod, nominated_first=nominated_first)
        rows, algorithm.next_start = found.rows, found.next_start
        if found.filtered is not None and everywhere:
            rows = found.filtered.feasible
        elif found.filtered is not None and algorithm.framework.percentage_of_nodes_to_score is None:
            wanted = feasible_nodes_to_find(len(found.filtered.listed), 0)
            if wanted < len(rows):
                rows, algorithm.next_start = first_from(algorithm.next_start, found.filtered, wanted)
        return Consultation(
            nominated_first=nominated_first,
            only_nominated=found.status is None and found.filtered is None,
            consulted_nodes=frozenset(algorithm.snapshot.names[row] for row in rows.tolist()),
        )

    def _spawn(self, kept: SetAsideAttempts, about: Sequence[Attempt], ask: _Ask) -> None:
        self._under_way += 1
        if kept.group is not None:
            self._asked.add(kept.group)
        questions = [(each.pod, each.state.consultation) for each in about if each.state.consultation is not None]
        self._ports.spawn(self._run(kept, questions, ask))

    async def _run(self, kept: SetAsideAttempts, questions: Sequence[tuple[PodInfo, Consultation]], ask: _Ask) -> None:
        try:
            await asyncio.gather(*(ask(pod, consultation) for pod, consultation in questions))
        finally:
            self._under_way -= 1
            self._ready.append(kept)
            self._ports.wake()

    async def _ask_about_nodes(self, pod: PodInfo, consultation: Consultation) -> None:
        try:
            await consult(self._extenders, pod, consultation, self._ports.metrics)
        except Exception as error:
            log.exception("Asking extenders failed", extra={"pairs": {"pod": pod.key}})
            consultation.error = Status.failure(error=error)

    async def _ask_if_cleared(self, pod: PodInfo, consultation: Consultation) -> None:
        found = consultation.if_cleared
        if found is None:
            return
        if not found.heard:
            await self._ask_about_nodes(pod, found)
            found.heard = True
        elif found.evictions is None:
            await self._ask_about_evictions(pod, found)

    async def _ask_about_evictions(self, pod: PodInfo, consultation: Consultation) -> None:
        if consultation.preemption is None:
            return
        try:
            consultation.evictions = await process_preemption(self._extenders, pod, consultation.preemption)
        except Exception as error:
            log.exception("Asking extenders failed", extra={"pairs": {"pod": pod.key}})
            consultation.evictions = Status.failure(error=error)


def should_ask_again(attempts: Sequence[Attempt], placed: int) -> bool:
    """Whether extenders have to be asked again about members of a group of which only `placed` fit.

    When that has not helped for some rounds, the group is decided with the answers that there are.
    """
    again = [attempt for attempt in attempts if attempt.state.nodes_to_ask]
    if not again:
        return False
    consultations = [attempt.state.consultation for attempt in attempts]
    known = (each.repeated for each in consultations if each is not None and each.repeated is not None)
    repeated = next(known, None) or RepeatedQuestions()
    for each in consultations:
        if each is not None:
            each.repeated = repeated
    repeated.in_vain = 0 if placed > repeated.most_placed else repeated.in_vain + 1
    repeated.most_placed = max(placed, repeated.most_placed)
    repeated.over = repeated.in_vain >= ROUNDS_IN_VAIN
    return not repeated.over


def _about_other_nodes(attempt: Attempt) -> Consultation:
    """The question about the nodes that fit beside the other members; what was refused stays refused."""
    before, nodes = attempt.state.consultation, attempt.state.nodes_to_ask
    if before is None or nodes is None:
        raise LookupError(f"nothing has to be asked again about {attempt.pod.key}")
    return Consultation(
        False, consulted_nodes=nodes, statuses=before.statuses, refused=before.refused, repeated=before.repeated
    )


def _decides(extender: Extender) -> bool:
    return extender.is_filter or extender.is_prioritizer or extender.supports_preemption
