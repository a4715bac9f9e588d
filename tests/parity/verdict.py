"""Whether two schedulers did the same with a pod. Pure: what both did goes in, what differs comes out in words.

Nothing is left out: the node, or another that is as good; the score of it, how many nodes were scored and how many of
them had the best score; the nominated node; all conditions as they stand; the event; victims with their conditions and
events. A node is as good as another where kube-scheduler's own scores of them are both the best.
"""

from collections.abc import Mapping
from dataclasses import replace

from tests.parity.choices import Choice
from tests.parity.world import Outcome

_FIELDS = ("nominated", "conditions", "note", "victims", "choice")


def difference(theirs: Outcome, ours: Outcome, scores: Mapping[str, int]) -> str:
    """What differs, "" for nothing. `scores` are kube-scheduler's of the nodes that it chose among."""
    if theirs.node != ours.node:
        if not (theirs.node and ours.node):
            return f"on node {theirs.node!r}, not {ours.node!r}"
        if tied := _tied(theirs, ours, scores):
            return tied
        if theirs.nominated == theirs.node and ours.nominated == ours.node:
            ours = replace(ours, nominated=theirs.nominated)
    return next(
        (
            f"{name}: {getattr(theirs, name)!r}, not {getattr(ours, name)!r}"
            for name in _FIELDS
            if getattr(theirs, name) != getattr(ours, name)
        ),
        "",
    )


def is_tie(theirs: Outcome, ours: Outcome) -> bool:
    """Whether both have a node, and not the same. Where nothing differs, these are equally good."""
    return bool(theirs.node and ours.node) and theirs.node != ours.node


def _tied(theirs: Outcome, ours: Outcome, scores: Mapping[str, int]) -> str:
    best = max(scores.values(), default=None)
    for node in (theirs.node, ours.node):
        if best is None or scores.get(node) != best:
            return f"on node {theirs.node!r}, not {ours.node!r}, of which kube-scheduler's scores are {dict(scores)}"
    expected = Choice(best, len(scores), sum(score == best for score in scores.values())) if best is not None else None
    return "" if ours.choice == expected else f"choice: {expected!r}, not {ours.choice!r}"
