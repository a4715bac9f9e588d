"""Preferences: terms with weights, merged by label so that ten thousand cost little more than one.

NodeAffinity merges them once for all pods of a signature. A node's value is the sum of the weights of the terms that
select it.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Mapping
from dataclasses import dataclass, field

from .label_test import Conjunction, bound_of, conjunction_of
from .pod import NodeSelectorRequirement, NodeSelectorTerm

Weighted = tuple[int, NodeSelectorTerm]


_ALSO_ABSENT = frozenset({"NotIn", "DoesNotExist"})


@dataclass(slots=True)
class LabelWeights:
    """The weights of the terms on one label.

    Attributes:
        absent: to a node without the label.
        present: to a node with it, whatever its value.
        values: on top of that, to one with this value.
        over, under: on top of that, bounds with the weight to one whose value is a number beyond it.
    """

    absent: int = 0
    present: int = 0
    values: dict[str, int] = field(default_factory=dict)
    over: dict[int, int] = field(default_factory=dict)
    under: dict[int, int] = field(default_factory=dict)

    def add(self, weight: int, requirement: NodeSelectorRequirement) -> None:
        """Add one more term."""
        match requirement.operator:
            case "In":
                self._give(weight, requirement.values)
            case "NotIn":
                self.absent += weight
                self.present += weight
                self._give(-weight, requirement.values)
            case "Exists":
                self.present += weight
            case "DoesNotExist":
                self.absent += weight
            case "Gt":
                bound = bound_of(requirement)
                self.over[bound] = self.over.get(bound, 0) + weight
            case "Lt":
                bound = bound_of(requirement)
                self.under[bound] = self.under.get(bound, 0) + weight

    def _give(self, weight: int, values: Iterable[str]) -> None:
        for value in dict.fromkeys(values):
            self.values[value] = self.values.get(value, 0) + weight


class Preferences:
    """The weights of well-formed terms together. Requirements on a label are merged when a node has it.

    Attributes:
        nowhere: the sum of what the terms on a single label are worth to a node that has none of the labels.
        names: by name, what the terms are worth that name a node and nothing else.
        several: the terms that look at more than one thing.
    """

    __slots__ = ("_merged", "_single", "names", "nowhere", "several")

    def __init__(self, terms: Iterable[Weighted]) -> None:
        single: dict[str, list[tuple[int, NodeSelectorRequirement]]] = {}
        names: dict[str, int] = {}
        several: list[tuple[int, Conjunction]] = []
        self.nowhere = 0
        for weight, term in terms:
            if len(term.match_expressions) == 1 and not term.match_fields:
                [requirement] = term.match_expressions
                single.setdefault(requirement.key, []).append((weight, requirement))
                if requirement.operator in _ALSO_ABSENT:
                    self.nowhere += weight
            elif (conjunction := conjunction_of(term)) is None:
                pass
            elif not conjunction.tests and conjunction.name is not None and not conjunction.other_names:
                names[conjunction.name] = names.get(conjunction.name, 0) + weight
            else:
                several.append((weight, conjunction))
        self._single = single
        self._merged: dict[str, LabelWeights] = {}
        self.names: Mapping[str, int] = names
        self.several = tuple(several)

    def __bool__(self) -> bool:
        """Whether there is any term."""
        return bool(self._single or self.names or self.several)

    @property
    def keys(self) -> KeysView[str]:
        """The keys of labels that a term looks at alone."""
        return self._single.keys()

    def weights(self, key: str) -> LabelWeights:
        """The weights of the terms on this label alone."""
        found = self._merged.get(key)
        if found is None:
            found = self._merged[key] = LabelWeights()
            for weight, requirement in self._single.get(key, ()):
                found.add(weight, requirement)
        return found
