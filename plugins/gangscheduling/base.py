"""The base class of `GangScheduling`: the statuses of a rejected group, its parts and its members.

The words are those of kube-scheduler's pod group cycle. The engine calls these methods during decisions, so they change
nothing; `GangScheduling` (`plugin`) adds the extension points and the consequences of decisions.
"""

from __future__ import annotations

from muster.framework.contract import Code, NoDomain, Part, PodInfo, Shortage, Status, with_reservation
from muster.framework.groups import GangPlugin

from . import messages
from .book import NativePodGroups


class NativeGangPlugin(GangPlugin):
    """The base of `GangScheduling`: a `GangPlugin` with the statuses of rejected PodGroups of scheduling.k8s.io."""

    fails_as_one = True
    _groups: NativePodGroups

    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """The group's message: the result of the trial, and the group's reservation, if there is one."""
        status = self.reject_trial(group, cause, placed=placed, missing=missing, no_domain=no_domain)
        if not status.rejected:
            return status
        return Status(status.code, (with_reservation(status.message, self.reservation_text(group)),))

    def reject_trial(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """The message about one trial. A member's error becomes the error of all members."""
        found = self._groups.get(group)
        if found is None:
            return cause
        hold = self._groups.holds.text(group)
        if hold is not None:
            return Status.pending(hold)
        if not cause.rejected:
            return Status.failure(messages.member_error(cause.message))
        min_count, scheduled = self._groups.quorum(group), self._groups.record(group).placed_or_succeeded
        if cause.code is Code.PENDING and cause.plugin in ("", self.name):
            remaining = self._groups.remaining_count(group) if cause.plugin else placed
            text = messages.too_few(min_count, scheduled, remaining)
            return Status.pending(text if no_domain is None else messages.no_domain(no_domain, messages.UNSCHEDULABLE))
        text = messages.unsatisfied(min_count, scheduled + placed, missing - placed - 1)
        if no_domain is not None:
            text = messages.no_domain(no_domain, text)
        return Status.pending(text) if cause.code is Code.PENDING else Status.unschedulable(text)

    def reject_part(self, part: Part, cause: Shortage | Status | None) -> Status:
        """The message for a part of a tree, or for its root."""
        if cause is None:
            return Status.unschedulable(messages.UNSCHEDULABLE)
        if isinstance(cause, Status):
            text_of = messages.member_error if part.parts is None else messages.part_error
            return Status.failure(text_of(cause.message))
        if part.parts is not None:
            text = messages.unsatisfied(part.needed, cause.fitting, cause.left)
        else:
            counts = messages.unsatisfied if cause.tried else messages.too_few
            scheduled = self._groups.record(part.key).placed_or_succeeded + cause.fitting
            text = counts(self._groups.quorum(part.key), scheduled, cause.left)
        if cause.no_domain is not None:
            was_tried = part.parts is not None or cause.tried
            text = messages.no_domain(cause.no_domain, text if was_tried else messages.UNSCHEDULABLE)
        return Status.unschedulable(with_reservation(text, self.reservation_text(part.key)))

    def reject_member(self, status: Status, own: Status | None, *, placed: bool) -> Status:
        """The message for a member: its own reason if it found no node, or else that its node is of no use.

        An error of the group is that of all members but the one that has an error of its own.
        """
        if own is not None:
            return status if own.plugin == self.name or own.rejected is not status.rejected else own
        return Status.unschedulable(messages.of_no_use(status.message)) if placed and status.rejected else status

    def preempts_as(self, pod: PodInfo) -> str | None:
        """The group of the pod, which kube-scheduler decides together at all times; None for a part of a tree."""
        group = self._groups.members.named_by(pod)
        return None if group is None or group not in self._groups or self._groups.trees.is_part(group) else group
