"""The current result for a waiting group: its members tried on a snapshot, and its place in the queue.

`muster why GROUP` calls it. The sentence is the engine's, which places all members or none. The table below comes from
members tried one after another, each with the previous ones on their nodes, which is the engine's first order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.framework.contract import CapacityPlugin, GroupId, GroupKind, Part, Plugin, Status
from muster.framework.contract.reservation import Start
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.requests import quantity
from muster.operator.process.settings import Assembly
from muster.operator.simulate import evictions, starts
from muster.operator.simulate.additions import NO_HELP, Shortfall
from muster.operator.simulate.endings import RequiredEnding, endings
from muster.operator.simulate.endings import sentences as ending_sentences
from muster.operator.simulate.evictions import Evicted
from muster.operator.simulate.extenders import NO_EXTENDERS, ExtenderSession
from muster.operator.simulate.manifests import Objects
from muster.operator.simulate.rehearsal import Placement, Rehearsal, RehearsalResult
from muster.operator.simulate.selectors import selector_sentence
from muster.operator.simulate.shortfall import shortfall
from muster.operator.simulate.sizes import size_sentence

from .group_views import decided_with, group_views

TRIED = "Tried now: "
"""How the sentences of a trial begin that says why the group is not placed."""
_SHORT = "Insufficient "
"""The text before a resource's name in the status of a node that has too little of it."""


@dataclass(frozen=True, slots=True)
class Saturated:
    """Nodes that take no more members, for one reason.

    Attributes:
        reason: the reason, in kube-scheduler's words.
        plugin: the plugin that rejected them.
        code: the status code, which tells whether the end of pods on the nodes would help.
        took: the number of members that the nodes would take before.
        nodes: the names of the nodes.
    """

    reason: str
    plugin: str
    code: str
    took: int
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lack:
    """The capacity that has to become free, on nodes that lack only capacity.

    Attributes:
        members: the number of further members that need capacity.
        each: the part of a member's requests that nodes lack, in the API's quantities.
    """

    members: int
    each: Mapping[str, str]

    @property
    def sentence(self) -> str:
        """The lack as a sentence."""
        question = ", ".join(f"{amount} {name}" for name, amount in self.each.items())
        if self.members == 1:
            return f"Capacity for 1 more member is lacking: {question} on one node."
        return f"Capacity for {self.members} more members is lacking: {question} on one node for each."


@dataclass(frozen=True, slots=True)
class TriedGroup:
    """The result of trying a group.

    Attributes:
        reason: why the group is not placed; "" if it would be placed now.
        evicted: the pods that would be evicted for it.
        blocked: the first member for which there is no node; "" when there is none.
        selector: its node selector, where some node does not match it; else "".
        size: which of its requests exceed every node; else "".
        nodes: the nodes by what keeps that member off them, those that took most members first.
        lack: what has to become free; None if the group does not lack capacity.
        help: the nodes that would have to be added.
        hopeless: whether it lacks nodes, and no number of nodes of the cluster's shapes would help.
        ending: the groups and pods that would have to end instead.
        starts: when it would start at the latest with capacity reserved for it; empty where that is unknown.
        place: the group's place among the waiting groups of all kinds, from 1; the parts of a tree share one.
        ahead: the groups ahead of it, in order.
        waiting: the number of waiting groups.
        quota: the namespace's use of its quota, a sentence for each resource.
    """

    reason: str
    evicted: Sequence[Evicted]
    blocked: str
    selector: str
    size: str
    nodes: tuple[Saturated, ...]
    lack: Lack | None
    help: Shortfall | None
    hopeless: bool
    ending: Sequence[RequiredEnding]
    starts: Sequence[Start]
    place: int
    ahead: tuple[str, ...]
    waiting: int
    quota: Sequence[str] = ()


async def try_group(
    assembly: Assembly,
    cluster: Objects,
    group: GroupId,
    *,
    now: float = 0.0,
    session: ExtenderSession = NO_EXTENDERS,
) -> TriedGroup | None:
    """Try the members of `group` that have no node; None if no member waits.

    `now` is in seconds since the epoch. The extenders of `session` take part.

    Raises ConfigurationError if a plugin cannot be created.
    """
    kind = assembly.groups.of(group)
    together = decided_with(kind, cluster.watched, group.key)
    return await _try(assembly, cluster, _GroupQuestion(kind, {group.key}, together), now, session=session)


async def try_tree(
    assembly: Assembly,
    cluster: Objects,
    kind: GroupKind[Any],
    groups: Collection[str],
    *,
    now: float = 0.0,
    session: ExtenderSession = NO_EXTENDERS,
) -> TriedGroup | None:
    """Try a composite that consists of these groups, together with the groups that are decided with it."""
    if not groups:
        return None
    question = _GroupQuestion(kind, {*groups}, decided_with(kind, cluster.watched, min(groups)))
    return await _try(assembly, cluster, question, now, session=session)


@dataclass(frozen=True, slots=True)
class _GroupQuestion:
    """The groups of one kind that a trial is about, and the groups that are decided `together` with them."""

    kind: GroupKind[Any]
    groups: Collection[str]
    together: Collection[str]


async def _try(
    assembly: Assembly, cluster: Objects, question: _GroupQuestion, now: float, *, session: ExtenderSession
) -> TriedGroup | None:
    kinds = assembly.groups.among(cluster.watched)
    together, groups = (
        {GroupId(question.kind.plugin, key) for key in keys} for keys in (question.together, question.groups)
    )
    members = [pod for pod in cluster.pods if kinds.named_by(pod) in together and not pod.spec.node_name]
    if not any(kinds.named_by(pod) in groups for pod in members):
        return None
    everyone = group_views(kinds, cluster.watched, cluster.pods)
    own = [each for each in everyone if each.kind is question.kind and each.key in question.groups]
    order = [each for each in everyone if each.place]
    place = min((each.place for each in own if each.place), default=len(order) + 1)
    async with Rehearsal(assembly, cluster, Objects(pods=members), wall=now, session=session) as rehearsal:
        quota = rehearsal.quota(min(question.groups).partition("/")[0])
        placements = await rehearsal.place(rehearsal.pods)
        evicted, predicted = rehearsal.evicted, rehearsal.starts
        without_node = [each for each in placements if not each.node]
        left = [each for each in without_node if each.group in question.groups]
        tree = rehearsal.tree_of(GroupId(question.kind.plugin, min(question.groups)))
        if tree is None:
            wanted, missing = left, own[0].needed - own[0].placed if own else 1
        else:
            wanted = _fewest(tree, question.groups, without_node) or []
            missing = len(wanted)
        tried = await rehearsal.one_after_another([each.pod for each in wanted])
        help_ = await shortfall(rehearsal, placements)
        lacking = [each.pod for each in wanted if each.lacks_nodes]
        blocked = next((pod for pod in lacking if pod.key == tried.blocked), None)
        ending = await endings(rehearsal, lacking, tried, missing, own=question.together)
    return TriedGroup(
        reason=left[0].reason if left else "",
        evicted=evicted,
        blocked=tried.blocked,
        selector="" if blocked is None else selector_sentence(blocked.pod, cluster.nodes),
        size="" if blocked is None else size_sentence(blocked, _messages(tried), cluster.nodes),
        nodes=_saturated(tried.placed, tried.reasons),
        lack=_lack(blocked, lacking, tried, missing) if blocked is not None and _is_full(assembly, tried) else None,
        help=help_,
        hopeless=bool(lacking) and help_ is None,
        ending=ending,
        starts=predicted,
        place=place,
        ahead=tuple(each.key for each in order[: place - 1]),
        waiting=len(order),
        quota=quota,
    )


def _fewest(part: Part, groups: Collection[str], waiting: Sequence[Placement]) -> list[Placement] | None:
    """The fewest waiting members with which a tree starts, preferably of `groups`; None if too few members wait."""
    if part.parts is None:
        members = [each for each in waiting if each.group == part.key][: max(0, part.needed)]
        return members if len(members) >= part.needed else None
    found: list[tuple[bool, int, list[Placement]]] = []
    for each in part.parts:
        some = _fewest(each, groups, waiting)
        if some is not None:
            found.append((all(leaf.key not in groups for leaf in each.leaves()), len(some), some))
    found.sort(key=lambda each: each[:2])
    return [member for *_, some in found[: part.needed] for member in some] if len(found) >= part.needed else None


def _is_full(assembly: Assembly, tried: RehearsalResult) -> bool:
    """Whether a plugin that counts capacity rejected a node."""
    registry = assembly.registry
    return any(issubclass(registry.get(each.plugin, Plugin), CapacityPlugin) for each in tried.reasons.values())


def _messages(tried: RehearsalResult) -> Iterator[str]:
    return (status.message for status in tried.reasons.values())


def _lack(blocked: PodInfo, lacking: Sequence[PodInfo], tried: RehearsalResult, missing: int) -> Lack | None:
    """The need of `missing` members together beyond what they find; the blocked one stands for those like it.

    Requested resources that no node lacks are omitted.
    """
    requests = blocked.signature.requests
    short = {reason.removeprefix(_SHORT) for status in tried.reasons.values() for reason in status.reasons}
    question = {name: amount for name, amount in requests.items() if name in short} or requests
    each = {name: quantity(name, amount) for name, amount in sorted(question.items())}
    alike = sum(pod.key not in tried.placed and pod.signature.requests == requests for pod in lacking)
    return Lack(min(alike, max(missing - len(tried.placed), 1)), each) if each else None


def _saturated(placed: Mapping[str, str], reasons: Mapping[str, Status]) -> tuple[Saturated, ...]:
    took = Counter(placed.values())
    names: defaultdict[tuple[Status, int], list[str]] = defaultdict(list)
    for node, status in reasons.items():
        names[status, took[node]].append(node)
    found = [
        Saturated(why.message, why.plugin, why.code.wire_name, count * len(nodes), tuple(sorted(nodes)))
        for (why, count), nodes in names.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.took, -len(each.nodes), each.reason)))


def sentences(trial: TriedGroup, said: str = "") -> Sequence[str]:
    """The sentences of a trial, the most important first. `said` is shown already, so it is not repeated."""
    first = "Tried now, it would be placed" + (" once others are evicted." if trial.evicted else ".")
    if trial.reason:
        first = f"{TRIED}the same." if trial.reason == said else f"{TRIED}{trial.reason}"
    lines = [first, *evictions.sentences(trial.evicted), *starts.sentences(trial.starts)]
    lines += trial.quota
    if trial.selector:
        lines.append(trial.selector)
    if trial.size:
        lines.append(trial.size)
    elif trial.lack is not None:
        lines.append(trial.lack.sentence)
    if trial.help is not None:
        lines += trial.help.sentences
    elif trial.hopeless:
        lines.append(NO_HELP)
    lines += ending_sentences(trial.ending)
    if trial.waiting and trial.place <= trial.waiting:
        behind = f", behind {', '.join(trial.ahead)}" if trial.ahead else ""
        lines.append(f"Place {trial.place} of {trial.waiting} waiting groups{behind}.")
    return lines
