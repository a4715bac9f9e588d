"""The page of a pod: why it is, or would be, on its node or finds none, as a tree of reasons and a table of scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from muster.framework.contract.decision import Evictions
from muster.framework.model.pod import Pod
from muster.framework.model.times import age, human_duration
from muster.framework.scheduler.explain import Explanation
from muster.operator.explain.group_views import scheduling_message
from muster.operator.explain.live import Explained
from muster.operator.simulate import evictions, starts

from ..census import Census
from ..cluster import LeaderDecision, Unavailable
from .parts import Link, group_link, key_link, node_link

_BEST_SHOWN = 10
_NODES_NAMED = 50


@dataclass(frozen=True, slots=True)
class ReasonLeaf:
    """One reason of a plugin, with the nodes that it rejects; `more` of them are not listed."""

    text: str
    nodes: int
    named: Sequence[Link]
    more: int


@dataclass(frozen=True, slots=True)
class ReasonBranch:
    """A plugin that rejects nodes, with its reasons."""

    plugin: str
    nodes: int
    reasons: Sequence[ReasonLeaf]


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A node that can run the pod; `share` is its total score as a percentage of the best."""

    node: Link
    chosen: bool
    total: int
    share: int
    by_plugin: Sequence[int]


@dataclass(frozen=True, slots=True)
class EvictedRow:
    """A pod that preemption would evict; `budget` is the PodDisruptionBudget that is overruled, or ""."""

    pod: Link
    priority: int
    budget: str


@dataclass(frozen=True, slots=True)
class PodPage:
    """The contents of a pod's page.

    Attributes:
        condition: the message of its condition; "" for a pod with a node.
        heading: the result of a decision now, as a sentence.
        by: the text that names the profile that decided; "" without a decision.
        sentences: further sentences about the decision.
        possible: the number of nodes that can run it.
        nodes: the number of all nodes.
        tree: the reasons why the other nodes cannot run it.
        plugins: the titles of the columns of scores.
        evict_on, evicted: the node on which preemption would evict pods, and these pods.
    """

    name: str
    phase: str
    node: Link
    scheduler: str
    priority: int
    group: Link | None
    age: str
    condition: str
    heading: str
    by: str
    sentences: Sequence[str]
    possible: int
    nodes: int
    tree: Sequence[ReasonBranch]
    plugins: Sequence[str]
    scores: Sequence[ScoreRow]
    evict_on: Link
    evicted: Sequence[EvictedRow]


def pod_page(pod: Pod, census: Census, answer: Explained | LeaderDecision | Unavailable, now: float) -> PodPage:
    """Compute the page of a pod from the answer about it; `now` is in seconds since the epoch."""
    explained = answer if isinstance(answer, Explained) else None
    explanation = Explanation() if explained is None or explained.gated else explained.explanation
    heading, *further = _sentences(answer, now)
    group = census.group_of(pod)
    decided = explanation.evictions
    return PodPage(
        name=pod.metadata.key,
        phase=pod.status.phase,
        node=node_link(pod.spec.node_name),
        scheduler=pod.spec.scheduler_name,
        priority=pod.spec.priority or 0,
        group=None if group is None else group_link(group),
        age=age(pod.metadata.creation_timestamp, now),
        condition="" if pod.spec.node_name else scheduling_message(pod),
        heading=heading,
        by="" if explained is None else _by(pod, explained),
        sentences=further,
        possible=len(explanation.feasible),
        nodes=0 if explained is None else explained.nodes,
        tree=_tree(explanation),
        plugins=_plugins(explanation),
        scores=_scores(explanation),
        evict_on=node_link("" if decided is None else decided.node_name),
        evicted=[] if decided is None else _evicted(decided),
    )


def _sentences(answer: Explained | LeaderDecision | Unavailable, now: float) -> list[str]:
    if isinstance(answer, Unavailable):
        return [answer.reason]
    if isinstance(answer, LeaderDecision):
        when = f"Decided by the leader {human_duration(now - answer.wall)} ago."
        return [answer.message or f"It has its node, {answer.node}.", when]
    if answer.gated:
        return [answer.gated]
    explanation = answer.explanation
    can = "could" if answer.pod.node_name or answer.unanswered else "can"
    where = f"It {can} go to {answer.best}." if explanation.chosen else ""
    found = [
        f"{answer.unanswered[:1].upper()}{answer.unanswered[1:]}." if answer.unanswered else "",
        answer.group,
        answer.at_permit,
        *answer.verdict,
        answer.size,
        *(evictions.sentences(answer.evicted) if explanation.evictions is None else ()),
        *starts.sentences(answer.starts),
        *answer.quota,
        answer.selector,
        f"Alone, it could go to {answer.best}." if answer.group and where else where,
    ]
    return [sentence for sentence in dict.fromkeys(found) if sentence] or ["No explanation."]


def _by(pod: Pod, explained: Explained) -> str:
    wanted = pod.spec.scheduler_name
    if wanted == explained.profile:
        return f"decided now, by profile {wanted}"
    return f"decided now as if by profile {explained.profile}; the pod names scheduler {wanted}"


def _evicted(evictions: Evictions) -> list[EvictedRow]:
    return [
        EvictedRow(key_link(pod.key), pod.priority, evictions.forbidden_by.get(pod.uid, ""))
        for pod in evictions.victims
    ]


def _tree(explanation: Explanation) -> list[ReasonBranch]:
    found: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, status in explanation.rejected.items():
        found[status.plugin][status.message].append(name)
    branches = [
        ReasonBranch(
            plugin,
            sum(len(names) for names in reasons.values()),
            [
                ReasonLeaf(
                    text,
                    len(names),
                    [node_link(name) for name in sorted(names)[:_NODES_NAMED]],
                    max(len(names) - _NODES_NAMED, 0),
                )
                for text, names in sorted(reasons.items(), key=lambda pair: (-len(pair[1]), pair[0]))
            ],
        )
        for plugin, reasons in found.items()
    ]
    return sorted(branches, key=lambda branch: (-branch.nodes, branch.plugin))


def _plugins(explanation: Explanation) -> list[str]:
    return list(next(iter(explanation.scores.values()), ()))


def _scores(explanation: Explanation) -> list[ScoreRow]:
    totals, best = explanation.totals, explanation.ranked()[:_BEST_SHOWN]
    most = totals[best[0]] if best else 0
    return [
        ScoreRow(
            node=node_link(name),
            chosen=name == explanation.chosen,
            total=totals[name],
            share=100 * totals[name] // most if most > 0 else 0,
            by_plugin=list(explanation.scores[name].values()),
        )
        for name in best
    ]
