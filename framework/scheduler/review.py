"""Review: every ten seconds, a check whether the reported reasons of waiting pods still hold.

A pod waits for the events that its rejecting plugins registered for. Other events may change why it waits: a full node
that is tainted helps no pod, so no pod is tried, and conditions would keep naming the missing cpu. Of equal pods only
one is tried, so even an attempt would leave the conditions of the others unchanged. Therefore, while pods are
unschedulable, the scheduler decides once more for one pod of each batch and for each single pod, on the current cluster
and without acting on the decision:

| finding | consequence |
| --- | --- |
| the reported reasons | none |
| other reasons | the pod is tried; of a batch, the first pod is, and the others get the new reasons, see `Renewals` |
| other reasons, by plugins that may answer differently for the others | the first is tried, the others are checked |
| an error, or, for a batch, capacity | the pod is tried, or the first pod of the batch |

The message of a group depends on all its members, and trying thousands takes long. So one member of each signature is
checked alone, and the group is tried, after its backoff, if the kinds of reasons differ from those of its rejection.
A pod or group that awaits its victims is tried only for further reasons, because reasons end as the victims do.

While nothing has changed, nothing is decided again. Checks take at most a tenth of the time: if pods of more
signatures wait than that allows, a round takes longer than ten seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..contract.extender import EXTENDER
from ..contract.status import Status
from ..contract.verdicts import fit_error
from ..model.pod_info import PodInfo, PodSignature
from ..queue.entity import QueuedEntity
from ..queue.scheduling_queue import SchedulingQueue
from ..queue.sub_queues import Batch
from ..queue.transitions import Place
from ..runtime.attempt_state import AttemptState
from ..runtime.nominator import PodNominator
from ..work import checkpoint
from .algorithm import Algorithm
from .attempt import Attempt
from .ports import Ports
from .renewals import Renewals
from .reports import Reasons, Reports, reasons_in, reasons_of

REVIEW_SECONDS = 10.0
"""The time between the beginnings of two rounds."""
_LOOKS_AT_ONCE = 16
_PAUSE_FACTOR = 9
"""Checks are followed by a pause of this many times their duration."""
_MOST_SIGNATURES = 8
"""The maximal number of members of a group that are checked."""

_Moment = tuple[int, int]
"""A position in the snapshot's journal, and the number of reports written."""


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The result that a pod's attempt would have. `status` is None if there is capacity, also by preemption."""

    status: Status | None
    rejectors: frozenset[str] = frozenset()


@dataclass(slots=True)
class _GroupRejection:
    """The rejection of a group.

    Attributes:
        members: one member of each signature, up to a limit.
        reasons: the reasons why each of them alone found no node.
        moment: when they were checked last.
    """

    members: Sequence[PodInfo]
    reasons: frozenset[Reasons]
    moment: _Moment


class Review:
    """Checks waiting pods. The scheduler calls it between decisions when checks are due.

    Attributes:
        is_due: whether `review_some` has something to do.
    """

    def __init__(
        self,
        algorithms: Mapping[str, Algorithm],
        queue: SchedulingQueue,
        nominator: PodNominator,
        reports: Reports,
        *,
        renewals: Renewals,
        ports: Ports,
    ) -> None:
        self.is_due = False
        self._algorithms = algorithms
        self._queue = queue
        self._nominator = nominator
        self._reports = reports
        self._renewals = renewals
        self._ports = ports
        self._is_timed = False
        self._round_began = 0.0
        self._left: deque[Batch | QueuedEntity] = deque()
        self._verdicts_before: dict[object, tuple[_Moment, _Verdict]] = {}
        self._verdicts: dict[object, tuple[_Moment, _Verdict]] = {}
        self._rejections: dict[str, _GroupRejection] = {}
        self._group_of: dict[str, str] = {}

    def begin(self) -> None:
        """Begin reviews, because pods have failed."""
        if not (self._is_timed or self.is_due):
            self._call_later(REVIEW_SECONDS)

    def note(self, group: str, attempts: Sequence[Attempt]) -> None:
        """Record why members of a group that was just rejected, in whole or in part, find no node alone."""
        self._rejections.pop(group, None)
        failed = {attempt.pod.signature: attempt.pod for attempt in attempts if attempt.status is not None}
        if failed:
            members = [*failed.values()][:_MOST_SIGNATURES]
            reasons = self._reasons_of(members)
            self._rejections[group] = _GroupRejection(members, reasons, self._moment(members[0]))
            self._group_of.update((member.uid, group) for member in members)

    def forget(self, pod: PodInfo) -> None:
        """Forget a deleted pod, and the rejection in which it stood for its signature."""
        group = self._group_of.pop(pod.uid, None)
        if group is not None:
            self._rejections.pop(group, None)

    def _call_later(self, seconds: float) -> None:
        self._is_timed = True
        self._ports.clock.call_later(seconds, self._fall_due)

    def _fall_due(self) -> None:
        self._is_timed, self.is_due = False, True
        self._ports.wake()

    def review_some(self) -> None:
        """Begin or continue a round. If the call is aborted, the rest of the round follows later."""
        now = self._ports.measured.now
        began = now()
        if not self._left:
            self._begin_round()
        goes_on = bool(self._left)
        for _ in range(min(_LOOKS_AT_ONCE, len(self._left))):
            self._review_waiting(self._left.popleft())
            checkpoint()
        self.is_due = False
        pause = (now() - began) * _PAUSE_FACTOR
        if self._left:
            self._call_later(pause)
        elif goes_on:
            self._call_later(max(pause, self._round_began + REVIEW_SECONDS - self._ports.clock.now()))
        else:
            self._verdicts_before = {}

    def _begin_round(self) -> None:
        self._round_began = self._ports.clock.now()
        batches, entities = self._queue.contents.unschedulable()
        self._left.extend((*batches, *entities))
        self._verdicts_before, self._verdicts = self._verdicts, {}
        waiting = {entity.group for entity in entities}
        self._rejections = {group: rejection for group, rejection in self._rejections.items() if group in waiting}
        self._group_of = {member.uid: group for group, each in self._rejections.items() for member in each.members}

    def _review_waiting(self, waiting: Batch | QueuedEntity) -> None:
        if EXTENDER in waiting.rejectors:  # only an attempt asks extenders
            return
        if isinstance(waiting, Batch):
            if waiting:
                self._review_batch(waiting)
        elif waiting.place is not Place.UNSCHEDULABLE:
            return
        elif waiting.group is not None:
            self._review_group(waiting, waiting.group)
        else:
            self._review_pod(waiting)

    def _review_batch(self, batch: Batch) -> None:
        first = batch.first(self._ports.clock.now())
        [pod] = first.all_pods()
        verdict = self._verdict(batch.key, pod)
        if verdict is None:
            return
        status = verdict.status
        is_new = status is None or not status.rejected or self._reports.reported(pod.uid) != reasons_of(status)
        if is_new:
            self._queue.try_again(batch)
        if status is None or not status.rejected:
            return
        if self._holds_for_all(batch, pod, verdict.rejectors):
            self._renewals.renew((mate for each in batch for mate in each.all_pods()), status)
        elif is_new:
            self._left.extend(batch)

    def _holds_for_all(self, batch: Batch, pod: PodInfo, rejectors: frozenset[str]) -> bool:
        """Whether a rejection of this pod of the batch by these plugins holds for each of them."""
        plugins = self._algorithm(pod).framework.plugins
        by_signature = isinstance(batch.key.common, PodSignature)
        return rejectors <= (plugins.rejecting_by_signature if by_signature else plugins.rejecting_by_class)

    def _review_pod(self, entity: QueuedEntity) -> None:
        """Free capacity says nothing about a pod that may have been rejected after it had a node.

        What preemption would say now does not matter for a pod that awaits its victims.
        """
        [pod] = entity.all_pods()
        awaits_victims = self._awaits_victims(entity)
        verdict = self._verdict((entity.key, awaits_victims), pod, preempts=not awaits_victims)
        if verdict is None or verdict.status is None:
            return
        reasons, reported = reasons_of(verdict.status), self._reports.reported(pod.uid) or frozenset()
        if not reasons <= reported if awaits_victims else reasons != reported:
            self._queue.try_again(entity)

    def _review_group(self, entity: QueuedEntity, group: str) -> None:
        rejection = self._rejections.get(group)
        if rejection is None or entity.pending_plugins:  # what it waits for is no node
            return
        moment = self._moment(rejection.members[0])
        if moment != rejection.moment:
            rejection.moment = moment
            before, now = rejection.reasons, self._reasons_of(rejection.members)
            if _has_further(now, before) if self._awaits_victims(entity) else now != before:
                self._queue.try_again(entity)

    def _awaits_victims(self, entity: QueuedEntity) -> bool:
        """Whether a pod of the entity is nominated to a node, on which it fits once others have terminated."""
        nominated_node = self._nominator.nominated_node
        return bool(len(self._nominator)) and any(nominated_node(uid) for uid in entity.pods)

    def _verdict(self, key: object, pod: PodInfo, *, preempts: bool = True) -> _Verdict | None:
        """The result that the pod's attempt would have, also by preemption unless `preempts` is False.

        None if a Filter plugin has long work left.
        """
        algorithm, state, moment = self._algorithm(pod), AttemptState(), self._moment(pod)
        known = self._verdicts_before.get(key)
        if known is not None and known[0] == moment:
            self._verdicts[key] = known
            return known[1]
        found = algorithm.find_nodes_that_fit(state, pod, nominated_first=False)
        if state.long_work.left is not None:
            return None
        verdict = _Verdict(found.status)
        if found.status is not None and found.status.rejected:
            nominated, text = algorithm.post_filter(state, pod, found) if preempts else ("", found.status.message)
            rejectors = () if found.diagnosis is None else found.diagnosis.unschedulable_plugins
            status = None if nominated else found.status.with_reasons(text)
            verdict = _Verdict(status, frozenset(rejectors))
        self._verdicts[key] = moment, verdict
        return verdict

    def _reasons_of(self, members: Iterable[PodInfo]) -> frozenset[Reasons]:
        """The reasons why each pod alone finds no node. Must not be aborted: the group's decision is carried out."""
        reasons = []
        for pod in members:
            algorithm = self._algorithm(pod)
            found = algorithm.find_nodes_that_fit(AttemptState(), pod, nominated_first=False, of_groups=False)
            if found.filtered is not None:
                reasons.append(reasons_in(fit_error(found.filtered.diagnose(algorithm.snapshot))))
            elif found.status is not None:
                reasons.append(reasons_of(found.status))
            checkpoint()
        return frozenset(reasons)

    def _algorithm(self, pod: PodInfo) -> Algorithm:
        return self._algorithms[pod.pod.spec.scheduler_name]

    def _moment(self, pod: PodInfo) -> _Moment:
        return self._algorithm(pod).snapshot.usage_journal.position, self._reports.report_count


def _has_further(now: Iterable[Reasons], before: Iterable[Reasons]) -> bool:
    """Whether there is a reason now that there was not before."""
    return not frozenset[str]().union(*now) <= frozenset[str]().union(*before)
