"""Healing: what becomes of a group that runs when members are lost for good.

An annotation of the group's object says it; owners that make new pods for lost ones are what heals. `Life` is pure: who
keeps the groups asks it after each change of members, and evicts whom it names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from ..config.problems import unsupported

T = TypeVar("T")

HEALING_POLICY = "muster-scheduler.io/healing-policy"


class HealingPolicy(StrEnum):
    """What a lost member means to the others."""

    KEEP = "Keep"
    """Nothing: they go on, and a successor joins them."""
    RESTART = "Restart"
    """They cannot go on: they are evicted, so that the owner makes all anew."""
    SHRINK = "Shrink"
    """They go on as long as the quorum is left; then they are evicted."""


def healing_policy(*annotations: Mapping[str, str]) -> HealingPolicy:
    """What those of the first object say that say what can be read; KEEP where none do."""
    said = (each.get(HEALING_POLICY, "") for each in annotations)
    return next((HealingPolicy(value) for value in said if value in [*HealingPolicy]), HealingPolicy.KEEP)


def healing_fault(annotations: Mapping[str, str]) -> str:
    """What is wrong with the annotation, with its field; "" when nothing is."""
    value = annotations.get(HEALING_POLICY, HealingPolicy.KEEP)
    if value in [*HealingPolicy]:
        return ""
    return unsupported(f"metadata.annotations[{HEALING_POLICY}]", value, [*HealingPolicy]).text


@dataclass(slots=True)
class Life(Generic[T]):
    """One life of a group: from when its quorum is bound until it is whole no more. Members are named by their UIDs.

    Attributes:
        members: who have lived in it and have not succeeded, as last seen; empty while it has not begun.
        succeeded: who have: they are done, and never lost.
        doomed: who are to be evicted since it ended; the next begins when they are gone.
    """

    members: dict[str, T] = field(default_factory=dict)
    succeeded: set[str] = field(default_factory=set)
    doomed: set[str] = field(default_factory=set)

    def follow(self, bound: Mapping[str, T], succeeded: Collection[str], quorum: int) -> set[str]:
        """Members are bound, and have succeeded, as now. Those that are lost, of a life that has begun."""
        if self.doomed:
            self.doomed.intersection_update(bound)
            return set()
        self.finish(succeeded)
        if self.members and self.members.keys() <= bound.keys():
            self.members.update(bound)
        elif self._is_past(bound) and len({*bound} | {*succeeded}) >= quorum:
            self.members, self.succeeded = {**bound}, {*succeeded}
        return self.members.keys() - bound.keys()

    def _is_past(self, bound: Mapping[str, T]) -> bool:
        """Whether none who lived in it is left, and others are there: another process may have ended it."""
        return not self.members or (bool(bound) and self.members.keys().isdisjoint(bound))

    def finish(self, succeeded: Collection[str]) -> None:
        """These have succeeded, whenever that is learned."""
        self.succeeded.update(succeeded)
        for uid in self.members.keys() & succeeded:
            del self.members[uid]

    def decide(self, policy: HealingPolicy, bound: Mapping[str, T], quorum: int) -> bool:
        """The loss of members is for good. Whether it is over by that; else all who are bound live on in it."""
        self.members = {**bound}
        borne = policy is HealingPolicy.SHRINK and len(self.members) + len(self.succeeded) >= quorum
        if policy is HealingPolicy.KEEP or borne:
            return False
        self.end(self.members)
        return True

    def end(self, bound: Collection[str]) -> None:
        """It is over, and all who are bound are to be evicted."""
        self.doomed, self.members, self.succeeded = {*bound}, {}, set()
