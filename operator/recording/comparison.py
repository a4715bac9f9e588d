"""The recorded decisions and the new ones, compared decision by decision, then pod by pod."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from .events import Decided, GroupDecided

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .events import Decision, Ranking


class Difference(StrEnum):
    """The difference between a pod's outcomes."""

    ELSEWHERE = "Elsewhere"
    """The pod was placed on another node."""
    NOW_PLACED = "NowPlaced"
    """The pod waited and would be placed."""
    NOW_WAITS = "NowWaits"
    """The pod was placed and would wait."""
    OTHER_REASON = "OtherReason"
    """The pod waits in both, for different reasons."""


@dataclass(frozen=True, slots=True)
class Would:
    """The node that would be chosen, and its ranking."""

    node: str
    ranking: Ranking


@dataclass(slots=True)
class PodStory:
    """The recorded and the replayed outcome for one pod.

    Attributes:
        recorded, replayed: its last decision, or the decision that first placed it; None without a decision.
        would: the node that the replay would have chosen, if it was placed on another one as recorded.
    """

    recorded: Decided | None = None
    replayed: Decided | None = None
    would: Would | None = None

    @property
    def node(self) -> str:
        """The node on which the pod would be placed."""
        if self.would is not None:
            return self.would.node
        return "" if self.replayed is None else self.replayed.node

    @property
    def difference(self) -> Difference | None:
        """The difference; None if both outcomes are the same, or one of them is missing."""
        if self.recorded is None or self.replayed is None:
            return None
        was, would = self.recorded.node, self.node
        if was and would:
            return Difference.ELSEWHERE if was != would else None
        if was or would:
            return Difference.NOW_WAITS if was else Difference.NOW_PLACED
        return Difference.OTHER_REASON if self.recorded.message != self.replayed.message else None


@dataclass(slots=True)
class Comparison:
    """The comparison of a replay with its recording.

    Attributes:
        events: the number of events.
        decisions: the number of recorded decisions.
        same: the number of decisions that were replayed byte for byte.
        reworded: the number of decisions with the same outcome in other words or with other scores.
        elsewhere: the number of decisions that would have placed the pod on a better node.
        own_way: the first recorded decision that differs, and the decision in its place; from there on the engine goes
            its own way, and is compared only pod by pod.
        broken_off: why the engine went its own way, if not because of a decision.
        whole: whether the comparison starts at the beginning of the recording.
        not_followed: kinds that are watched now and were not recorded.
        stories: by UID, the outcome for each pod.
    """

    events: int = 0
    decisions: int = 0
    same: int = 0
    reworded: int = 0
    elsewhere: int = 0
    own_way: tuple[Decision | None, Decision | None] | None = None
    broken_off: str = ""
    whole: bool = True
    not_followed: list[str] = field(default_factory=list)
    stories: dict[str, PodStory] = field(default_factory=dict)
    _recorded: deque[Decision] = field(default_factory=deque)
    _replayed: deque[tuple[Decision, Would | None]] = field(default_factory=deque)

    @property
    def exact(self) -> bool:
        """Whether every decision was the same, byte for byte."""
        return self.same == self.decisions and not self.broken_off and self.own_way is None

    @property
    def agrees(self) -> bool:
        """Whether all outcomes are the same, which is all that a replay from the middle of a recording can show."""
        return self.exact or (not self.whole and next(self.differences(), None) is None)

    def recorded(self, decision: Decision) -> None:
        """Add a recorded decision."""
        self.decisions += 1
        self._recorded.append(decision)
        if isinstance(decision, Decided):
            story = self.stories.setdefault(decision.uid, PodStory())
            if _is_outcome(story.recorded, decision):
                story.recorded = decision

    def replayed(self, decision: Decision, would: Would | None) -> None:
        """Add a replayed decision, with the choice that would have been made instead if there is one."""
        self._replayed.append((decision, would))
        if isinstance(decision, Decided):
            story = self.stories.setdefault(decision.uid, PodStory())
            if _is_outcome(story.replayed, decision):
                story.replayed, story.would = decision, would

    def same_course(self, *, all_reported: bool) -> bool:
        """Whether the decisions so far have the same outcomes on both sides.

        At a point where not all decisions that were begun have been reported (`all_reported`), the recording may
        report a decision later that has already been replayed.
        """
        while self._recorded:
            was = self._recorded.popleft()
            decision, would = self._replayed.popleft() if self._replayed else (None, None)
            if decision is None or _outcome(was) != _outcome(decision):
                self.own_way = was, decision
                return False
            if would is not None:
                self.elsewhere += 1
            elif msgspec.json.encode(was) == msgspec.json.encode(decision):
                self.same += 1
            else:
                self.reworded += 1
        if self._replayed and all_reported:
            self.own_way = None, self._replayed[0][0]
            return False
        return True

    def diverged(self, why: str) -> None:
        """Record that the engine deviates from the recording, although its decisions are the same."""
        self.broken_off = why

    def differences(self) -> Iterator[tuple[Difference, PodStory]]:
        """The pods with another outcome."""
        for story in self.stories.values():
            if story.difference is not None:
                yield story.difference, story


def placed(decision: Decided) -> bool:
    """Whether the pod got the node, as known at that time."""
    return bool(decision.node) and not decision.code and not decision.given_back


def chosen(decision: Decided) -> bool:
    """Whether the pod got the node as the best of several."""
    return placed(decision) and decision.ranking is not None


def _is_outcome(before: Decided | None, decision: Decided) -> bool:
    """Whether this decision is the pod's outcome so far: the first placement, or else the last rejection."""
    return not decision.given_back and (before is None or not placed(before))


def _outcome(decision: Decision) -> tuple[object, ...]:
    if isinstance(decision, GroupDecided):
        return decision.group, decision.placed, decision.missing, decision.code
    return decision.uid, decision.node, decision.code, decision.given_back
