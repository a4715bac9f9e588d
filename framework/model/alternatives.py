"""Alternatives: terms of which one has to select the node, merged so that ten thousand cost little more than one.

Most pods have terms on a single label, and these can be merged: the values of all `In`, the lowest bound of all `Gt`. A
`NodeRequirement` merges them once for all pods of a signature.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Mapping, Sequence

from .label_test import Conjunction, LabelTest, bound_of, conjunction_of, test_of
from .pod import NodeSelectorRequirement, NodeSelectorTerm

_ALSO_ABSENT = frozenset({"NotIn", "DoesNotExist"})


class Alternatives:
    """The nodes that well-formed terms pick together. Requirements on a label are merged when a node has it.

    Attributes:
        lenient: keys of labels of which a term accepts that they are absent.
        names: nodes that are picked by their name alone.
        several: the terms that look at more than one thing.
    """

    __slots__ = ("__weakref__", "_merged", "_single", "lenient", "names", "several")

    def __init__(self, terms: Iterable[NodeSelectorTerm]) -> None:
        single: dict[str, list[NodeSelectorRequirement]] = {}
        lenient: dict[str, None] = {}
        names: set[str] = set()
        several: list[Conjunction] = []
        for term in terms:
            if len(term.match_expressions) == 1 and not term.match_fields:
                [requirement] = term.match_expressions
                single.setdefault(requirement.key, []).append(requirement)
                if requirement.operator in _ALSO_ABSENT:
                    lenient[requirement.key] = None
            elif (conjunction := conjunction_of(term)) is None:
                pass
            elif not conjunction.tests and conjunction.name is not None and not conjunction.other_names:
                names.add(conjunction.name)
            else:
                several.append(conjunction)
        self._single = single
        self._merged: dict[str, tuple[LabelTest, ...]] = {}
        self.lenient = tuple(lenient)
        self.names = frozenset(names)
        self.several = tuple(several)

    @property
    def keys(self) -> KeysView[str]:
        """The keys of labels that a term looks at alone."""
        return self._single.keys()

    def tests(self, key: str) -> Sequence[LabelTest]:
        """Tests of which one has to accept the label."""
        found = self._merged.get(key)
        if found is None:
            found = self._merged[key] = _merged(self._single.get(key, ()))
        return found

    def pick(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether one of the terms picks the node with these labels and this name."""
        if name in self.names or any(key not in labels for key in self.lenient):
            return True
        for key, value in labels.items():
            if key in self._single and any(test.accepts(value) for test in self.tests(key)):
                return True
        return any(conjunction.picks(labels, name) for conjunction in self.several)


def _merged(requirements: Iterable[NodeSelectorRequirement]) -> tuple[LabelTest, ...]:
    """The fewest tests of which one accepts a label whenever one of these requirements does."""
    among: set[str] = set()
    without: frozenset[str] | None = None
    over: list[int] = []
    under: list[int] = []
    others: dict[LabelTest, None] = {}
    for requirement in requirements:
        match requirement.operator:
            case "In":
                among.update(requirement.values)
            case "NotIn":
                values = frozenset(requirement.values)
                without = values if without is None else without & values
            case "Gt":
                over.append(bound_of(requirement))
            case "Lt":
                under.append(bound_of(requirement))
            case _:
                others[test_of([requirement])] = None
    if among:
        others[LabelTest(among=frozenset(among), present=True)] = None
    if without is not None:
        others[LabelTest(without=without)] = None
    if over:
        others[LabelTest(over=min(over), present=True)] = None
    if under:
        others[LabelTest(under=max(under), present=True)] = None
    return tuple(others)
