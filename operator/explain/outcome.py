"""The outcome of a simulation: the placements and their consequences, as a table, as sentences and as JSON.

`muster simulate` creates and prints it. The members of a group, and equal pods, share a line unless the output is wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from muster.framework.contract.reservation import Start
from muster.framework.model.node import Node
from muster.operator.simulate import evictions, starts
from muster.operator.simulate.additions import NO_HELP, Shortfall
from muster.operator.simulate.evictions import Evicted
from muster.operator.simulate.rehearsal import Placement
from muster.operator.simulate.selectors import selector_sentence
from muster.operator.simulate.sizes import size_sentence
from muster.operator.simulate.wording import alike, counted, nameless

from .layout import NONE, lines, printable, shortened


@dataclass(frozen=True, slots=True)
class RehearsalOutcome:
    """The outcome of a simulation, with sentences about pods without a node, by the pods' keys.

    Attributes:
        selectors: the node selectors that some node does not match.
        sizes: the requests that exceed every node.
    """

    placements: Sequence[Placement]
    selectors: Mapping[str, str]
    sizes: Mapping[str, str]
    evicted: Sequence[Evicted]
    starts: Sequence[Start]
    missing: Shortfall | None


def selector_sentences(placements: Sequence[Placement], nodes: Sequence[Node]) -> dict[str, str]:
    """Sentences about the selectors of pods without a node, by key; "" for a selector that all nodes match."""
    lacking = [each.pod for each in placements if each.lacks_nodes]
    by_signature = {pod.signature: pod for pod in lacking}
    sentences = {signature: selector_sentence(pod.pod, nodes) for signature, pod in by_signature.items()}
    return {pod.key: sentences[pod.signature] for pod in lacking}


def size_sentences(placements: Sequence[Placement], nodes: Sequence[Node]) -> dict[str, str]:
    """The requests of pods that lack nodes, and that exceed every node, by the pods' keys; "" if none does."""
    lacking = [each for each in placements if each.lacks_nodes]
    by_signature = {each.pod.signature: each for each in lacking}
    sentences = {like: size_sentence(each.pod, [each.reason], nodes) for like, each in by_signature.items()}
    return {each.pod.key: sentences[each.pod.signature] for each in lacking}


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
                "size": outcome.sizes.get(each.pod.key, ""),
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
        for told in (outcome.selectors, outcome.sizes):
            sentences = dict.fromkeys(told.get(each.pod.key, "") for each in some)
            yield from (printable(sentence) for sentence in sentences if sentence)
    placed = sum(1 for each in placements if each.node)
    yield f"{placed} of {counted(len(placements), 'pod')} would be scheduled."
    yield from map(printable, evictions.sentences(outcome.evicted))
    yield from map(printable, starts.sentences(outcome.starts))
    if outcome.missing is not None:
        yield from map(printable, outcome.missing.sentences)
    elif any(each.lacks_nodes for each in placements):
        yield NO_HELP


def _named(placements: Sequence[Placement]) -> str:
    more = f" and {len(placements) - 1} more" if len(placements) > 1 else ""
    return f"{placements[0].pod.key}{more}"


def _each(placements: Sequence[Placement]) -> Iterator[str]:
    """The table with a row for each pod."""
    rows = [(each.pod.key, each.group or NONE, each.node or NONE, each.reason or NONE) for each in placements]
    return lines(("POD", "PODGROUP", "NODE", "REASON"), rows)


def _like(placements: Sequence[Placement]) -> Iterator[str]:
    """The table of groups and of sets of like pods, with and without nodes; a namespace that all share is left out."""
    several = len({each.pod.namespace for each in placements}) > 1
    rows = [
        (
            *(str(len(some)), some[0].group or NONE),
            shortened([*dict.fromkeys(each.node for each in some)], whole=False) or NONE,
            shortened([each.pod.key if several else each.pod.name for each in some], whole=False),
        )
        for some in alike(placements, lambda each: (each.likeness, bool(each.node)))
    ]
    return lines(("PODS", "PODGROUP", "NODES", "WHICH"), rows)
