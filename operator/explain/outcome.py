"""The outcome of a simulation: the placements and their consequences, as a table, as sentences and as JSON.

`muster simulate` creates and prints it. The members of a group, and equal pods, share a line unless the output is wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from muster.framework.contract.reservation import Start
from muster.framework.model.node import Node
from muster.operator.simulate import evictions, starts
from muster.operator.simulate.additions import Shortfall
from muster.operator.simulate.evictions import Evicted
from muster.operator.simulate.rehearsal import Placement
from muster.operator.simulate.selectors import selector_sentence
from muster.operator.simulate.wording import alike, counted, nameless

from .layout import NONE, lines, printable, shortened


@dataclass(frozen=True, slots=True)
class RehearsalOutcome:
    """The outcome of a simulation; `selectors` has sentences about the selectors of pods without a node, by key."""

    placements: Sequence[Placement]
    selectors: Mapping[str, str]
    evicted: Sequence[Evicted]
    starts: Sequence[Start]
    missing: Shortfall | None


def selector_sentences(placements: Sequence[Placement], nodes: Sequence[Node]) -> dict[str, str]:
    """Sentences about the selectors of pods without a node, by key; "" for a selector that all nodes match."""
    lacking = [each.pod for each in placements if each.lacks_nodes]
    by_signature = {pod.signature: pod for pod in lacking}
    sentences = {signature: selector_sentence(pod.pod, nodes) for signature, pod in by_signature.items()}
    return {pod.key: sentences[pod.signature] for pod in lacking}


def outcome_as_json(outcome: RehearsalOutcome) -> dict[str, object]:
    """The outcome for programs."""
    return {
        "fits": all(placement.node for placement in outcome.placements),
        "pods": [
            {
                "pod": each.pod.key,
                "group": each.group,
                "node": each.node,
                "reason": each.reason,
                "selector": outcome.selectors.get(each.pod.key, ""),
            }
            for each in outcome.placements
        ],
        "evicted": outcome.evicted,
        "starts": outcome.starts,
        "missing": outcome.missing,
    }


def outcome_lines(outcome: RehearsalOutcome, *, wide: bool) -> Iterator[str]:
    """The table, then the sentences without repetitions."""
    placements = outcome.placements
    yield from _each(placements) if wide else _like(placements)
    yield ""
    for some in alike(
        (each for each in placements if not each.node), lambda each: nameless(each.reason, each.pod.name)
    ):
        yield printable(f"{_named(some)}: {some[0].reason}")
        selectors = dict.fromkeys(outcome.selectors.get(each.pod.key, "") for each in some)
        yield from (printable(selector) for selector in selectors if selector)
    placed = sum(1 for each in placements if each.node)
    yield f"{placed} of {counted(len(placements), 'pod')} would be scheduled."
    yield from map(printable, evictions.sentences(outcome.evicted))
    yield from map(printable, starts.sentences(outcome.starts))
    if outcome.missing is not None:
        yield from map(printable, outcome.missing.sentences)
    elif any(each.lacks_nodes for each in placements):
        yield "More nodes of the shapes that the cluster has would not help."


def _named(placements: Sequence[Placement]) -> str:
    more = f" and {len(placements) - 1} more" if len(placements) > 1 else ""
    return f"{placements[0].pod.key}{more}"


def _each(placements: Sequence[Placement]) -> Iterator[str]:
    """The table with a row for each pod."""
    rows = [(each.pod.key, each.group or NONE, each.node or NONE, each.reason or NONE) for each in placements]
    return lines(("POD", "PODGROUP", "NODE", "REASON"), rows)


def _like(placements: Sequence[Placement]) -> Iterator[str]:
    """The table with a row for each group and each set of equal pods."""
    rows = [
        (
            *(str(len(some)), some[0].group or NONE),
            shortened([*dict.fromkeys(each.node for each in some)], whole=False) or NONE,
            shortened([each.pod.key for each in some], whole=False),
        )
        for some in alike(placements, lambda each: (each.likeness, bool(each.node)))
    ]
    return lines(("PODS", "PODGROUP", "NODES", "WHICH"), rows)
