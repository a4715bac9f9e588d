"""The result of a replay, for users and for programs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from .comparison import Comparison, Difference, PodStory
from .events import GroupDecided

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .events import Decision, Ranking

_SHOWN = 50
_WORDS = {
    Difference.ELSEWHERE: "placed elsewhere",
    Difference.NOW_PLACED: "that waited would be placed",
    Difference.NOW_WAITS: "that were placed would wait",
    Difference.OTHER_REASON: "wait for another reason",
}


def lines(comparison: Comparison, *, everything: bool = False) -> Iterator[str]:
    """The lines for users; `everything` lists every pod."""
    yield f"{comparison.events} events, {comparison.decisions} decisions about {len(comparison.stories)} pods"
    if comparison.not_followed:
        yield f"not recorded, so as if there were none: {', '.join(comparison.not_followed)}"
    if comparison.exact:
        yield "every decision is the same"
        return
    if comparison.whole:
        yield f"decisions that are the same: {comparison.same}"
    if comparison.reworded:
        yield f"with the same outcome in other words or scores: {comparison.reworded}"
    if comparison.elsewhere:
        yield f"with another node: {comparison.elsewhere}"
    if comparison.own_way is not None:
        was, would = comparison.own_way
        yield "then it went its own way:"
        yield f"  recorded: {'nothing' if was is None else _decision(was)}"
        yield f"  replayed: {'nothing' if would is None else _decision(would)}"
    elif comparison.broken_off:
        yield f"compared pod by pod, for it cannot be followed event by event: {comparison.broken_off}"
    differences = list(comparison.differences())
    counts = Counter(difference for difference, _ in differences)
    yield f"pods with the recorded outcome: {len(comparison.stories) - len(differences)}"
    yield from (f"pods {words}: {counts[each]}" for each, words in _WORDS.items() if counts[each])
    shown = differences if everything else differences[:_SHOWN]
    for _, story in shown:
        yield from ("", *_pod(story))
    if len(shown) < len(differences):
        yield from ("", f"and {len(differences) - len(shown)} more; --all shows them")


def document(comparison: Comparison) -> dict[str, Any]:
    """The JSON document for programs."""
    own_way = None
    if comparison.own_way is not None:
        own_way = {"recorded": comparison.own_way[0], "replayed": comparison.own_way[1]}
    return {
        "same": comparison.agrees,
        "events": comparison.events,
        "decisions": {
            "recorded": comparison.decisions,
            "same": comparison.same,
            "toldOtherwise": comparison.reworded,
            "elsewhere": comparison.elsewhere,
        },
        "ownWay": own_way,
        "brokenOff": comparison.broken_off,
        "notRecorded": comparison.not_followed,
        "pods": [
            {
                "difference": difference,
                "recorded": story.recorded,
                "replayed": story.replayed,
                "would": story.would and {"node": story.would.node, "ranking": story.would.ranking},
            }
            for difference, story in comparison.differences()
        ],
    }


def _pod(story: PodStory) -> Iterator[str]:
    was, again = story.recorded, story.replayed
    if was is None or again is None:
        return
    yield f"{was.pod}: {was.node or 'waits'} -> {story.node or 'waits'}"
    yield f"  recorded: {_decision(was)}"
    if story.would is None:
        yield f"  replayed: {_decision(again)}"
        return
    chosen, unhelped = story.would, again.ranking
    yield f"  replayed: {again.pod} on {chosen.node}, {_best(chosen.ranking)}"
    if unhelped is not None:
        yield f"            where {was.node} has {_scores(unhelped)}"


def _decision(decision: Decision) -> str:
    if isinstance(decision, GroupDecided):
        fit = "fits" if decision.placed == 1 else "fit"
        outcome = f"{decision.placed} of the {decision.missing} members that it needs {fit}"
        return f"group {decision.group}: {decision.message or outcome}"
    where = f"group {decision.group}, " if decision.group else ""
    if decision.given_back:
        return f"{where}{decision.pod} lost node {decision.node}: {decision.message}"
    if not decision.node or decision.code:
        return f"{where}{decision.pod}: {decision.message}"
    if decision.ranking is None:
        return f"{where}{decision.pod} on {decision.node}, without a choice"
    return f"{where}{decision.pod} on {decision.node}, {_best(decision.ranking)}"


def _best(ranking: Ranking) -> str:
    others = "other" if ranking.equals == 2 else "others"
    equals = f", as {ranking.equals - 1} {others}," if ranking.equals > 1 else ""
    return f"best of {ranking.among}{equals} with {_scores(ranking)}"


def _scores(ranking: Ranking) -> str:
    parts = [f"{plugin} {score}" for plugin, score in ranking.by_plugin.items() if score]
    return f"{ranking.total} ({', '.join(parts)})" if parts else str(ranking.total)
