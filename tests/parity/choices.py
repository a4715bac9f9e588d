"""How each scheduler chose a node or a topology domain, as it says itself: what it scored, and what else was as good.

kube-scheduler logs the final score of every node that passed and of every placement of a group that could take it, with
`--vmodule=schedule_one=10,schedule_one_podgroup=10`. Muster keeps a recording (`muster run --record`). Where one node
alone passed neither scores it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

TRACE = "--vmodule=schedule_one=10,schedule_one_podgroup=10"
"""What kube-scheduler has to be started with."""

_LINE = re.compile(
    r'"Attempting to schedule pod group".* podGroup="(?P<group>[^"]+)"'
    r'|"Attempting to schedule (?:a )?pod(?: belonging to a pod group)?".* pod="(?P<pod>[^"]+)"'
    r'|final score for pod".* pod="(?P<scored>[^"]+)" node="(?P<node>[^"]+)" score=(?P<score>-?\d+)'
    r'|final score for podGroup".* podGroup="(?P<placed>[^"]+)" placement="(?P<domain>[^"]*)" score=(?P<total>-?\d+)'
)


@dataclass(frozen=True, slots=True)
class Choice:
    """Why a pod is on its node.

    Attributes:
        score: the node's.
        among: how many nodes were scored.
        equals: how many of them had the same score, itself included.
    """

    score: int
    among: int
    equals: int


class Tail:
    """The lines that are added to a file, each once. A line that is not complete yet comes later."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def lines(self) -> Iterator[str]:
        """The lines since the last call."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._read += len(line)
                yield line.decode(errors="replace")


@dataclass
class _Attempt:
    """One look at a pod: in which cycle, and what it scored."""

    cycle: int
    scores: dict[str, int] = field(default_factory=dict)


class SchedulerLog:
    """kube-scheduler's choices, from its log. A group's members are looked at once in each placement that is tried."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self._cycle = 0
        self._attempts: dict[str, list[_Attempt]] = {}
        self._placements: dict[str, dict[str, int]] = {}
        self._placements_of: dict[str, int] = {}

    def choice(self, pod: str, node: str) -> Choice | None:
        """Why the pod is on this node; None where it was the only one that passed. `pod` is `namespace/name`."""
        scores = self.scores(pod, node)
        return _choice(scores, node) if scores else None

    def knows(self, pod: str, node: str) -> bool:
        """A pod is logged before it is bound."""
        return True

    def scores(self, pod: str, node: str) -> Mapping[str, int]:
        """What was scored when the pod was last looked at where this node was among the candidates."""
        self._follow()
        attempts = self._attempts.get(pod, [])
        last = attempts[-1].cycle if attempts else 0
        found = (each.scores for each in reversed(attempts) if each.cycle == last and node in each.scores)
        return next(found, {})

    def placements(self, group: str) -> Mapping[str, int]:
        """The scores of the placements when there was last a choice for the group, perhaps that of a preemption."""
        self._follow()
        return self._placements.get(group, {})

    def _follow(self) -> None:
        for line in self._tail.lines():
            if found := _LINE.search(line):
                self._note(found)

    def _note(self, found: re.Match[str]) -> None:
        if found["group"] is not None:
            self._cycle += 1
        elif found["pod"] is not None:
            if "belonging" not in found[0]:
                self._cycle += 1
            self._attempts.setdefault(found["pod"], []).append(_Attempt(self._cycle))
        elif found["scored"] is not None:
            attempts = self._attempts.setdefault(found["scored"], [_Attempt(self._cycle)])
            attempts[-1].scores[found["node"]] = int(found["score"])
        else:
            if self._placements_of.get(found["placed"]) != self._cycle:
                self._placements[found["placed"]] = {}
            self._placements_of[found["placed"]] = self._cycle
            self._placements[found["placed"]][found["domain"]] = int(found["total"])


class Recorded:
    """Muster's choices, from its recording."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self._choices: dict[tuple[str, str], Choice | None] = {}

    def choice(self, pod: str, node: str) -> Choice | None:
        """Why the pod is on this node; None where it was the only one that passed. `pod` is `namespace/name`."""
        self._follow()
        return self._choices.get((pod, node))

    def knows(self, pod: str, node: str) -> bool:
        """Whether the decision is written down: decisions are written a moment after they were made."""
        self._follow()
        return (pod, node) in self._choices

    def _follow(self) -> None:
        for line in self._tail.lines():
            if '"event":"decided"' not in line:
                continue
            decided = json.loads(line)
            if (node := decided.get("node")) and not decided.get("given_back"):
                ranking = decided.get("ranking")
                self._choices[decided["pod"], node] = ranking and Choice(
                    ranking["total"], ranking["among"], ranking["equals"]
                )


def _choice(scores: Mapping[str, int], node: str) -> Choice:
    return Choice(scores[node], len(scores), sum(score == scores[node] for score in scores.values()))
