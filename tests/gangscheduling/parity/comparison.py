"""Plays situations for kube-scheduler first, then for Muster, and keeps what differs.

Each situation is nodes with pods that run on them, then groups one by one, some of whose pods run already, some of
which need another number of pods after a while, some of which may evict others. After each of these acts both sides
are compared in all (`verdict`), once nothing changes any more. Where Muster evicted others than kube-scheduler, or each
took another of equally good nodes or domains, what follows cannot be compared: the situation is followed no further.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.eventually import LOOK_EVERY_SECONDS
from tests.gangscheduling.parity.observed import Observed
from tests.gangscheduling.parity.stage import Scene, Stage
from tests.gangscheduling.parity.verdict import Scope, Verdict, compare
from tests.gangscheduling.situations import Group, Situation

_CALM_SECONDS = 0.8
_CALM_AFTER_BACKOFF_SECONDS = 2.5
_CALM_AFTER_LONG_BACKOFF_SECONDS = 3.5
"""kube-scheduler's backoff grows with the root of the number of pods that wait together."""
_WITHIN_SECONDS = 12.0


@dataclass
class Tally:
    """What came of comparing situations.

    Attributes:
        situations: how many were played.
        compared: acts that were compared, and groups, pods and scores in them.
        excused: what was not compared, by the excuse.
        parted: how many situations were followed no further, as both had chosen well and not the same.
        broken: in how many kube-scheduler failed time and again by an error of its own.
        differences: each in words.
    """

    situations: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)
    parted: int = 0
    broken: int = 0
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        compared = ", ".join(f"{count} {what}" for what, count in sorted(self.compared.items()))
        lines = [
            f"{self.situations} situations with {compared}: {len(self.differences)} differences; {self.parted} parted, "
            f"in {self.broken} kube-scheduler did not get on"
        ]
        return "\n".join([*lines, *(f"  {count} x excused: {what}" for what, count in self.excused.most_common())])

    @property
    def data(self) -> dict[str, Any]:
        """As a result that is kept."""
        return {
            "situations": self.situations,
            **self.compared,
            "parted": self.parted,
            "broken": self.broken,
            "excused": dict(self.excused),
            "differences": len(self.differences),
        }


def play(theirs: Stage, ours: Stage, situation: Situation, tally: Tally) -> None:
    """Play the situation for both, and add what came of it."""
    acts = [(act, group) for group in situation.groups for act in ("comes", "changes")]
    acts = [(act, group) for act, group in acts if act == "comes" or group.later is not None]
    wanted: list[Observed] = []
    tally.situations += 1
    with theirs.play(situation) as scene:
        scene.begin()
        for act, group in acts:
            _do(scene, act, group)
            wanted.append(_settled(scene.seen, _calm(situation, act)))
    with ours.play(situation) as scene:
        scene.begin()
        for (act, group), expected in zip(acts, wanted, strict=True):
            _do(scene, act, group)
            if expected.transient:
                tally.broken += 1
                return
            verdict = _until_same(scene.seen, expected, scope_of(situation, group.name))
            _add(verdict, expected, tally)
            if verdict.differences:
                words = "\n  ".join([f"when {group.name} {act}:", *verdict.differences])
                tally.differences.append(f"{situation}\n{words}")
                return
            if verdict.parted:
                tally.parted += 1
                return


def scope_of(situation: Situation, acting: str) -> Scope:
    """The scope of a comparison right after this group came or changed."""
    return Scope(
        acting=acting,
        in_tree=bool(situation.composites),
        in_domains=any(composite.rack for composite in situation.composites),
        evictors=frozenset(group.name for group in situation.groups if group.high),
    )


def _do(scene: Scene, act: str, group: Group) -> None:
    if act == "comes":
        scene.add(group)
    else:
        scene.change(group)


def _calm(situation: Situation, act: str) -> float:
    """For how long nothing may change until kube-scheduler will do nothing more."""
    if situation.composites:
        return _CALM_AFTER_LONG_BACKOFF_SECONDS
    return _CALM_AFTER_BACKOFF_SECONDS if act == "changes" or situation.evicts else _CALM_SECONDS


def _settled(look: Callable[[], Observed | None], calm_seconds: float) -> Observed:
    """What is seen when nothing has changed for so long."""
    last, since, began = look(), time.monotonic(), time.monotonic()
    while time.monotonic() - since < calm_seconds and time.monotonic() - began < _WITHIN_SECONDS:
        time.sleep(LOOK_EVERY_SECONDS)
        now = look()
        if now is None or now != last or now.transient:
            last, since = now, time.monotonic()
    assert last is not None
    return last


def _until_same(look: Callable[[], Observed | None], wanted: Observed, scope: Scope) -> Verdict:
    """The verdict when nothing differs, or else in the end."""
    began, verdict = time.monotonic(), Verdict(["Muster decided nothing that it wrote down"])
    while verdict.differences and time.monotonic() - began < _WITHIN_SECONDS:
        if (now := look()) is not None:
            verdict = compare(wanted, now, scope)
        if verdict.differences:
            time.sleep(LOOK_EVERY_SECONDS)
    return verdict


def _add(verdict: Verdict, expected: Observed, tally: Tally) -> None:
    groups = expected.groups.values()
    pods = [pod for group in groups for pod in group.pods.values()]
    tally.excused += verdict.excused
    tally.compared += Counter(
        acts=1,
        groups=len(groups),
        pods=len(pods),
        bound=sum(bool(pod.node) for pod in pods),
        scores=sum(pod.choice is not None for pod in pods),
        domains_scored=sum(len(group.placements) > 1 for group in groups),
        evicted=len(expected.evicted),
    )
