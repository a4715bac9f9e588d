"""Healing: what happens to a running group when it has lost members for good.

An annotation of the group's object names the policy; the owners of the pods create replacements. `GroupRun` is pure:
the operator calls it after each change of members, and evicts the pods that it names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from ..config.problems import unsupported
from ..model.names import PREFIX

T = TypeVar("T")

HEALING_POLICY = f"{PREFIX}healing-policy"


class HealingPolicy(StrEnum):
    """The consequences of a lost member for the other members."""

    KEEP = "Keep"
    """None: the other members continue, and a replacement joins them."""
    RESTART = "Restart"
    """The other members are evicted, so that the owner creates all of them again."""
    SHRINK = "Shrink"
    """The other members continue while they have a quorum; then they are evicted."""


def healing_policy(*annotations: Mapping[str, str]) -> HealingPolicy:
    """The policy of the first object with a valid annotation; KEEP if there is none."""
    values = (each.get(HEALING_POLICY, "") for each in annotations)
    return next((HealingPolicy(value) for value in values if value in [*HealingPolicy]), HealingPolicy.KEEP)


def healing_fault(annotations: Mapping[str, str]) -> str:
    """The problem with the annotation, with its field; "" for a valid one."""
    value = annotations.get(HEALING_POLICY, HealingPolicy.KEEP)
    if value in [*HealingPolicy]:
        return ""
    return unsupported(f"metadata.annotations[{HEALING_POLICY}]", value, [*HealingPolicy]).text


@dataclass(slots=True)
class GroupRun(Generic[T]):
    """One run of a group: from the moment its quorum is bound until it is ended. Members are named by their UIDs.

    Attributes:
        members: members of this run that have not succeeded, as last seen; empty while it has not begun.
        succeeded: members that have succeeded: they are done, and never lost.
        to_evict: pods to evict because the run has ended; the next run begins when they are gone.
    """

    members: dict[str, T] = field(default_factory=dict)
    succeeded: set[str] = field(default_factory=set)
    to_evict: set[str] = field(default_factory=set)

    def follow(self, bound: Mapping[str, T], succeeded: Collection[str], quorum: int) -> set[str]:
        """Record the members that are bound now, and those that have succeeded. Returns the UIDs of lost members of a
        begun run.
        """
        if self.to_evict:
            self.to_evict.intersection_update(bound)
            return set()
        self.finish(succeeded)
        if self.members and self.members.keys() <= bound.keys():
            self.members.update(bound)
        elif self._is_past(bound) and len({*bound} | {*succeeded}) >= quorum:
            self.members, self.succeeded = {**bound}, {*succeeded}
        return self.members.keys() - bound.keys()

    def _is_past(self, bound: Mapping[str, T]) -> bool:
        """Whether no member of this run is left, and others are bound: another process may have ended it."""
        return not self.members or (bool(bound) and self.members.keys().isdisjoint(bound))

    def finish(self, succeeded: Collection[str]) -> None:
        """Record members that have succeeded, whenever this becomes known."""
        self.succeeded.update(succeeded)
        for uid in self.members.keys() & succeeded:
            del self.members[uid]

    def decide(self, policy: HealingPolicy, bound: Mapping[str, T], quorum: int) -> bool:
        """Whether the run ends because members are lost for good. If not, it continues with all bound members."""
        self.members = {**bound}
        tolerated = policy is HealingPolicy.SHRINK and len(self.members) + len(self.succeeded) >= quorum
        if policy is HealingPolicy.KEEP or tolerated:
            return False
        self.end(self.members)
        return True

    def end(self, bound: Collection[str]) -> None:
        """End the run; all bound members have to be evicted."""
        self.to_evict, self.members, self.succeeded = {*bound}, {}, set()
