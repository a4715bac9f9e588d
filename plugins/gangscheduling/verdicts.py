"""What the pods of a group are told when it is rejected, and its parts: kube-scheduler's pod group cycle in its words.

The engine asks while it decides, so nothing changes here. `GangScheduling` extends it by what follows from decisions.
"""

from __future__ import annotations

from muster.framework.contract import Code, NoDomain, Part, Shortage, Status, with_reservation
from muster.framework.groups import GangPlugin

from . import messages
from .groups import NativePodGroups


class NativeVerdicts(GangPlugin):
    """The part of the plugin that words verdicts on groups."""

    _groups: NativePodGroups

    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """The group's message: the result of the trial, and its reservation, if there is one."""
        status = self.reject_trial(group, cause, placed=placed, missing=missing, no_domain=no_domain)
        if not status.rejected:
            return status
        return Status(status.code, (with_reservation(status.message, self._reserved_for(group)),))

    def reject_trial(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """An error of a pod is one of all; what is wrong with the group is said as it is."""
        found = self._groups.get(group)
        if found is None:
            return cause
        if not cause.rejected:
            return Status.failure(messages.member_error(cause.message))
        min_count, scheduled = self._groups.quorum(group), self._groups.record(group).scheduled
        if cause.code is Code.PENDING and cause.plugin in ("", self.name):
            remaining = self._groups.remaining_count(group) if cause.plugin else placed
            return Status.pending(messages.too_few(min_count, scheduled, remaining))
        text = messages.unsatisfied(min_count, scheduled + placed, missing - placed - 1)
        if no_domain is not None:
            text = messages.no_domain(no_domain, text)
        return Status.pending(text) if cause.code is Code.PENDING else Status.unschedulable(text)

    def reject_part(self, part: Part, cause: Shortage | Status | None) -> Status:
        """The message for a part of a hierarchy, or for the whole of it."""
        if cause is None:
            return Status.unschedulable(messages.UNSCHEDULABLE)
        if isinstance(cause, Status):
            told = messages.member_error if part.parts is None else messages.part_error
            return Status.failure(told(cause.message))
        if part.parts is not None:
            text = messages.unsatisfied(part.needed, cause.fitting, cause.left)
        else:
            counts = messages.unsatisfied if cause.tried else messages.too_few
            scheduled = self._groups.record(part.key).scheduled + cause.fitting
            text = counts(self._groups.quorum(part.key), scheduled, cause.left)
        if cause.no_domain is not None:
            text = messages.no_domain(cause.no_domain, text)
        return Status.unschedulable(with_reservation(text, self._reserved_for(part.key)))

    def reject_member(self, status: Status, own: Status | None, *, placed: bool) -> Status:
        """A pod that found no node is told so; one that found one, that it is of no use."""
        if own is not None:
            return status if own.plugin == self.name or own.rejected is not status.rejected else own
        return Status.unschedulable(messages.of_no_use(status.message)) if placed else status
