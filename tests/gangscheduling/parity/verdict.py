"""Whether two schedulers did the same in a situation. Pure: what was seen of both goes in, what differs comes out.

Compared are, by name: which pods are bound, the domain of each group, the node of each pod with its score, how many
nodes were scored and how many were as good, the nominated node, all conditions of pods and groups as they stand, True
ones included, and which pods were evicted.

Where kube-scheduler leaves something to chance, says what its own next look takes back, or Muster does otherwise on
purpose, that one thing is excused, by name, and counted. The excuses are all that is not compared:
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tests.gangscheduling.parity.observed import Observed, ObservedGroup, ObservedPod
from tests.parity.choices import Choice
from tests.parity.world import Condition

TIED_NODES = "kube-scheduler chose among nodes with the same score, and so did Muster"
TIED_DOMAINS = "kube-scheduler chose among domains with the same score, and so did Muster"
OTHER_VICTIMS = "Muster evicted others, and no more"
NOT_CALLED_SCHEDULED = "kube-scheduler does not call a group scheduled whose quorum has nodes"
LATER_TEXT = "kube-scheduler leaves the text of a later attempt on a group that it called scheduled"
WRAPPED = "kube-scheduler's gate for topologies wraps the text of a group without one"
SOME_DOMAIN = "kube-scheduler tells of some domain what it lacks"
CLAIMS = "kube-scheduler tells of claims that groups without claims do not have"
IN_A_TREE = "in a tree kube-scheduler tells some parts what others lack"
ONE_FOR_ALL = "of pods alike that wait beyond the quorum Muster tells one"
WAITS_BESIDE = "Muster tells a group that waits while others come of new numbers when it looks again"

_UNSCHEDULABLE = "pod group is unschedulable"
_NO_PLACEMENT = "pod group is unschedulable, 0/1 placements are available, first placement status: "
_FIRST_PLACEMENT = "first placement status: "
_ABSENT = re.compile(r": no node has the label [^,]*")
_NO_CLAIMS = ", deallocation and deletion of ResourceClaims completed"
_PREEMPTION = ", pod group preemption: "
_VICTIMS = re.compile(r"\d+ victims")
_NUMBERS = re.compile(r"\d+")


@dataclass
class Verdict:
    """What differs, in words, and what was excused."""

    differences: list[str] = field(default_factory=list)
    excused: Counter[str] = field(default_factory=Counter)
    parted: bool = False

    def differs(self, what: str, theirs: object, ours: object) -> None:
        """This is not the same."""
        self.differences.append(f"{what}: {theirs!r}, not {ours!r}")


@dataclass(frozen=True, slots=True)
class Scope:
    """What the situation is at the moment.

    Attributes:
        acting: the group that has come or changed last; the others wait or run beside it.
        in_tree: whether groups are parts of others.
        in_domains: whether one of these has to be in one domain.
        evictors: groups that may evict.
    """

    acting: str
    in_tree: bool = False
    in_domains: bool = False
    evictors: frozenset[str] = frozenset()


def compare(theirs: Observed, ours: Observed, scope: Scope) -> Verdict:
    """The verdict. Where other pods were evicted the situations have parted, and it ends with how the evictors fare."""
    verdict = Verdict()
    if theirs.evicted != ours.evicted:
        _compare_victims(theirs, ours, scope, verdict)
        return verdict
    for name, group in theirs.groups.items():
        other = ours.groups[name]
        _compare_bound(name, group, other, verdict)
        _compare_group(name, group, other, scope, verdict)
        for pod in group.pods:
            _compare_reports(pod, (group, other), scope.acting == name, scope, verdict)
    return verdict


def _compare_victims(theirs: Observed, ours: Observed, scope: Scope, verdict: Verdict) -> None:
    evictors = scope.evictors & theirs.groups.keys()
    elsewhere = any(_in_tied_domains(theirs.groups[name], ours.groups[name]) for name in evictors)
    if not (theirs.evicted and ours.evicted and (elsewhere or len(ours.evicted) <= len(theirs.evicted))):
        verdict.differs("evicted", sorted(theirs.evicted), sorted(ours.evicted))
    for name in sorted(evictors):
        mine, other = theirs.groups[name], ours.groups[name]
        if mine.bound != other.bound:
            verdict.differs(f"{name} bound", sorted(mine.bound), sorted(other.bound))
        elif mine.constrained and mine.domains != other.domains and not _in_tied_domains(mine, other):
            verdict.differs(f"domain of {name} that evicted", _scored(mine), sorted(other.domains))
    if not verdict.differences:
        verdict.parted = True
        verdict.excused[OTHER_VICTIMS] += 1


def _in_tied_domains(theirs: ObservedGroup, ours: ObservedGroup) -> bool:
    """Whether the group got two domains with the highest score."""
    if not theirs.constrained or theirs.domains == ours.domains or len(theirs.domains) != len(ours.domains):
        return False
    best = max(theirs.placements.values(), default=None)
    return best is not None and {theirs.placements.get(each) for each in theirs.domains | ours.domains} == {best}


def _compare_bound(name: str, theirs: ObservedGroup, ours: ObservedGroup, verdict: Verdict) -> None:
    if theirs.bound != ours.bound:
        verdict.differs(f"{name} bound", sorted(theirs.bound), sorted(ours.bound))
        return
    if verdict.parted:  # another node of an earlier group changes the scores for the later ones
        return
    if theirs.constrained and theirs.domains != ours.domains:
        if not _in_tied_domains(theirs, ours):
            verdict.differs(f"domain of {name}", _scored(theirs), sorted(ours.domains))
        verdict.parted = True
        verdict.excused[TIED_DOMAINS] += 1
        return
    for pod in sorted(theirs.bound):
        mine, other = theirs.pods[pod], ours.pods[pod]
        if mine.node != other.node:
            if not _is_tie(mine, other):
                verdict.differs(f"node of {pod}", (mine.node, dict(mine.scores)), (other.node, other.choice))
            verdict.parted = True
            verdict.excused[TIED_NODES] += 1
            return
        if mine.choice != other.choice:
            verdict.differs(f"choice of {pod} on {mine.node}", mine.choice, other.choice)


def _is_tie(theirs: ObservedPod, ours: ObservedPod) -> bool:
    """Whether both nodes had the best score, and Muster scored its own as high among as many."""
    best = max(theirs.scores.values(), default=None)
    if best is None or {theirs.scores.get(theirs.node), theirs.scores.get(ours.node)} != {best}:
        return False
    return ours.choice == Choice(best, len(theirs.scores), list(theirs.scores.values()).count(best))


def _scored(group: ObservedGroup) -> tuple[list[str], dict[str, int]]:
    return sorted(group.domains), dict(group.placements)


# The messages of groups.


def _compare_group(name: str, theirs: ObservedGroup, ours: ObservedGroup, scope: Scope, verdict: Verdict) -> None:
    mine, other = theirs.said, ours.said
    if mine is not None and other is not None:
        beside = scope.acting != name and mine.status == other.status == "False"
        for excuse, excused_mine, excused_other in _plainer(mine, other, theirs, scope, beside=beside):
            if mine != other and (excused_mine, excused_other) != (mine, other):
                mine, other = excused_mine, excused_other
                verdict.excused[excuse] += 1
    scheduled = theirs.has_quorum and other is not None and other.status == "True"
    if scheduled and (mine is None or mine.status != "True"):
        verdict.excused[NOT_CALLED_SCHEDULED] += 1
        mine = other
    pods_are_left = scope.in_tree or len(theirs.bound) < len(theirs.pods)
    if pods_are_left and _is_text_of_later_attempt(mine, other):
        verdict.excused[LATER_TEXT] += 1
        mine = other
    rest = tuple(tuple(each for each in group.conditions if each is not group.said) for group in (theirs, ours))
    if mine != other or rest[0] != rest[1]:
        verdict.differs(f"conditions of {name}", theirs.conditions, ours.conditions)


def _is_text_of_later_attempt(theirs: Condition | None, ours: Condition | None) -> bool:
    """Whether the group was called scheduled, and the text alone is that of an attempt for pods that were left.

    kube-scheduler compares the condition of such an attempt with what its informer reported last. If that is still the
    condition from before the group was scheduled, only the text differs, and the patch has nothing but the text.
    """
    if theirs is None or ours is None or theirs.status != "True" or not theirs.message.startswith(_UNSCHEDULABLE):
        return False
    return theirs._replace(message="") == ours


def _plainer(
    theirs: Condition, ours: Condition, group: ObservedGroup, scope: Scope, *, beside: bool
) -> Iterator[tuple[str, Condition, Condition]]:
    """Each excuse that may hold for a group's text, with both conditions without what it excuses."""
    mine, other = theirs, ours
    for excuse, plain, holds in (
        (CLAIMS, _without_claims, True),
        (WRAPPED, _unwrapped, not group.constrained or scope.in_tree),
        (SOME_DOMAIN, _without_domain, True),
        (IN_A_TREE, _first_words, scope.in_tree),
        (IN_A_TREE, _without_text, scope.in_domains),
        (WAITS_BESIDE, _without_text, beside),
    ):
        if holds:
            mine, other = (each._replace(message=plain(each.message)) for each in (mine, other))
            yield excuse, mine, other


def _without_claims(message: str) -> str:
    """Without claims; the result of preemption is given once for each part of a tree, with the number of victims."""
    reason, *preemption = message.replace(_NO_CLAIMS, "").split(_PREEMPTION)
    return _PREEMPTION.join([reason, *dict.fromkeys(_VICTIMS.sub("n victims", each) for each in preemption)])


def _unwrapped(message: str) -> str:
    return message.replace(_NO_PLACEMENT, "")


def _without_domain(message: str) -> str:
    """kube-scheduler says of the first domain that it happens to try what that lacks.

    Muster says which label no node has.
    """
    parts = (each.partition(_FIRST_PLACEMENT)[0] for each in message.split(_PREEMPTION))
    return _PREEMPTION.join(_ABSENT.sub("", each) for each in parts)


def _first_words(message: str) -> str:
    return _UNSCHEDULABLE if message.startswith(_UNSCHEDULABLE) else message


def _without_text(message: str) -> str:
    return ""


# The messages of pods.


def _compare_reports(
    name: str, groups: tuple[ObservedGroup, ObservedGroup], acting: bool, scope: Scope, verdict: Verdict
) -> None:
    mine, other = (group.pods[name] for group in groups)
    if mine.node or other.node:
        parted = mine.node != other.node  # of which there is a verdict already
        if (mine.conditions, mine.nominated) != (other.conditions, other.nominated) and not parted:
            verdict.differs(f"reported {name}", mine, other)
        return
    reported = replace(mine, choice=None, scores={}), replace(other, choice=None, scores={})
    if reported[0] == reported[1]:
        return
    excuse = _excuse(mine, other, groups, acting, scope)
    if excuse is None:
        verdict.differs(f"reported {name}", reported[0], reported[1])
    else:
        verdict.excused[excuse] += 1


def _excuse(
    theirs: ObservedPod, ours: ObservedPod, groups: tuple[ObservedGroup, ObservedGroup], acting: bool, scope: Scope
) -> str | None:
    """Why the messages of pods without nodes may differ."""
    if theirs.nominated != ours.nominated:
        return None
    mine, other = theirs.reported, ours.reported
    if other is None and mine is not None and groups[1].has_quorum:
        likes = [pod.reported for pod in groups[1].pods.values() if not pod.node and pod.reported is not None]
        return ONE_FOR_ALL if any(_alike(mine, like) for like in likes) else None
    if mine is None or other is None:
        return None
    group = groups[0].said
    if scope.in_domains or (group is not None and "placements are available" in group.message):
        return SOME_DOMAIN if (mine.status, mine.reason) == (other.status, other.reason) else None
    if scope.in_tree:
        return IN_A_TREE if (mine.status, mine.reason) == (other.status, other.reason) else None
    plain = (_plain(mine), _plain(other))
    if plain[0] == plain[1]:
        return WRAPPED
    waits = not acting and not groups[0].has_quorum
    return WAITS_BESIDE if (waits and mine.reason == other.reason) or _alike(*plain) else None


def _plain(reported: Condition) -> Condition:
    return reported._replace(message=_without_domain(_unwrapped(_without_claims(reported.message))))


def _alike(theirs: Condition, ours: Condition) -> bool:
    """Whether they are the same but for numbers."""
    mine, other = (_NUMBERS.sub("n", _plain(each).message) for each in (theirs, ours))
    return mine == other and theirs[:3] == ours[:3]
