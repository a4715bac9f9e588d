"""Extenders in preemption for a group: which nodes its members may have, and which pods they may evict.

The group's trial for PodGroupPostFilter asks. Extenders answer between decisions, so the first question ends the
decision: `Consultations` calls the extenders, and the group is decided again with their answers. The number of rounds
is bounded, and extenders are not asked again about a node that they rejected, for equal members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..contract.extender import Extender, Victims
from ..contract.group_preemption import Placed
from ..contract.status import Status
from ..contract.verdicts import Diagnosis, fit_error
from ..model.pod_info import PodInfo, PodSignature
from ..runtime.consultation import Consultation, IfCleared, PreemptionQuestion, RepeatedQuestions
from ..snapshot.snapshot import Snapshot
from .attempt import Attempt

ROUNDS = 100
"""How often extenders are asked about evictions before the group is rejected; each time they refuse on other nodes."""
_IN_VAIN = 5
"""How often they may agree to evictions that the group no longer needs before it is rejected."""

BEING_ASKED = Status.unschedulable("extenders are being asked")
"""The status of a decision that is void until they have answered."""

_NOT_HELPFUL = Status.unresolvable("Preemption is not helpful for scheduling")
_NOBODY_LEFT = Status.unschedulable("no candidate node for preemption")
_NOT_AGREED = Status.unschedulable("node(s) whose victims an extender did not agree to")


class GroupConsultation:
    """The consultation of extenders in one decision about one group.

    Members in which no extender is interested are not part of it, and may have any node.

    Attributes:
        extender_status: set if the decision is void: a rejection if extenders have to be asked, an ERROR if one failed.
    """

    def __init__(self, snapshot: Snapshot, attempts: Sequence[Attempt], extenders: Sequence[Extender]) -> None:
        self.extender_status: Status | None = None
        self._snapshot = snapshot
        self._members = len(attempts)
        self._consulted = [attempt for attempt in attempts if attempt.state.consultation is not None]
        self._extenders = [extender for extender in extenders if extender.supports_preemption]

    def about_nodes(self, candidates: Callable[[Sequence[PodInfo]], frozenset[str]]) -> Status | None:
        """None if extenders have answered which of the `candidates` of equal members these may have; else why not."""
        open_: dict[PodSignature, list[tuple[PodInfo, Consultation]]] = {}
        for attempt in self._consulted:
            consultation = attempt.state.consultation
            if consultation is not None and consultation.if_cleared is None:
                open_.setdefault(attempt.pod.signature, []).append((attempt.pod, consultation))
        for equal in open_.values():
            nodes = candidates([pod for pod, _ in equal])
            for _, consultation in equal:
                settled = RepeatedQuestions(over=True)
                consultation.if_cleared = IfCleared(False, consulted_nodes=nodes, repeated=settled, heard=not nodes)
            if nodes:
                self.extender_status = BEING_ASKED
        self._apply_evictions()
        self.extender_status = self.extender_status or next(
            (found.error for _, found in self._answers() if found.error), None
        )
        return self.extender_status or self._rejection()

    def _rejection(self) -> Status | None:
        """The reason why no member may have any node, worded for the first member; None if one may."""
        answers = [found for _, found in self._answers()]
        if len(answers) < self._members or not any(found.consulted_nodes for found in answers):
            return None
        if any(found.node_names for found in answers):
            return None
        names = self._snapshot.names_of(self._snapshot.live_rows())
        return Status.unschedulable(fit_error(Diagnosis.of_statuses(names, answers[0].statuses, _NOT_HELPFUL)))

    def about_evictions(self, placement: Sequence[Placed], victims: Mapping[str, Victims]) -> Status | None:
        """None if extenders agree to these victims, by node, for the members that are placed there; else why not."""
        answers = self._answers()
        by_uid = {pod.uid: found for pod, found in answers}
        open_: list[tuple[IfCleared, str]] = []
        for pod, node_name in placement:
            found = by_uid.get(pod.uid)
            if found is None or not any(each.is_interested(pod) for each in self._extenders):
                continue
            if node_name in victims and found.agreed.get(node_name) != _uids(victims[node_name]):
                open_.append((found, node_name))
        if any(found.rounds >= ROUNDS or found.in_vain >= _IN_VAIN for found, _ in open_):
            return _NOBODY_LEFT
        for found, node_name in open_:
            going = victims[node_name]
            pods = {each.uid: each for each in (*self._pods_on(node_name), *going.pods)}
            found.preemption, found.evictions = PreemptionQuestion({node_name: going}, {node_name: pods}), None
            self.extender_status = BEING_ASKED
        if open_:
            for _, found in answers:
                found.rounds += 1
        return self.extender_status

    def _pods_on(self, node_name: str) -> Iterable[PodInfo]:
        row = self._snapshot.row_of(node_name)
        return () if row is None else self._snapshot.pods[row].values()

    def allowed(self, pod: PodInfo) -> frozenset[str] | None:
        """The names of the nodes that extenders allow for members of the pod's signature; None for any node."""
        found = [answer.node_names for other, answer in self._answers() if other.signature == pod.signature]
        return frozenset().union(*found) if found else None

    def _answers(self) -> list[tuple[PodInfo, IfCleared]]:
        return [
            (attempt.pod, consultation.if_cleared)
            for attempt in self._consulted
            if (consultation := attempt.state.consultation) is not None and consultation.if_cleared is not None
        ]

    def _apply_evictions(self) -> None:
        """Record the evictions that extenders have agreed to, and drop the nodes for which they have not."""
        answers = self._answers()
        agreed, refused = False, False
        for pod, found in answers:
            question, answer = found.preemption, found.evictions
            if question is None or answer is None:
                continue
            found.preemption = found.evictions = None
            if isinstance(answer, Status):
                found.error = answer
                continue
            [(node_name, victims)] = question.victims.items()
            if node_name in answer and _uids(answer[node_name]) == _uids(victims):
                found.agreed[node_name] = _uids(victims)
                agreed = True
                continue
            refused = True
            for other, theirs in answers:
                if other.signature == pod.signature:
                    theirs.node_names -= {node_name}
                    theirs.statuses = {**theirs.statuses, node_name: _NOT_AGREED}
        if agreed and not refused:
            for _, found in answers:
                found.in_vain += 1


def _uids(victims: Victims) -> frozenset[str]:
    return frozenset(pod.uid for pod in victims.pods)
