"""A node selector term, put in order: one test for each label, and what it says of the node's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .label_test import LabelTest, test_of
from .pod import NodeSelectorRequirement, NodeSelectorTerm

NAME_FIELD = "metadata.name"


@dataclass(frozen=True, slots=True)
class Conjunction:
    """What a term requires.

    Attributes:
        tests: by label key.
        name: the only name that will do; None for any.
        other_names: the names that will not.
    """

    tests: Mapping[str, LabelTest]
    name: str | None = None
    other_names: frozenset[str] = frozenset()

    def picks(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether the node with these labels and this name is meant."""
        if name in self.other_names or (self.name is not None and name != self.name):
            return False
        return all(test.accepts(labels.get(key)) for key, test in self.tests.items())

    @property
    def by_name(self) -> bool:
        """Whether it looks at the name."""
        return self.name is not None or bool(self.other_names)


def conjunction_of(term: NodeSelectorTerm) -> Conjunction | None:
    """The well-formed term, put in order; None for one that picks no node whatever its labels are."""
    name: str | None = None
    other_names: set[str] = set()
    for requirement in term.match_fields:
        value, wanted = requirement.values[0], requirement.operator == "In"
        if requirement.key != NAME_FIELD:
            if (value == "") != wanted:  # fields that nodes do not have are empty
                return None
        elif not wanted:
            other_names.add(value)
        elif name is None or name == value:
            name = value
        else:
            return None
    return Conjunction(_tests(term.match_expressions), name, frozenset(other_names))


def _tests(requirements: Iterable[NodeSelectorRequirement]) -> dict[str, LabelTest]:
    by_key: dict[str, list[NodeSelectorRequirement]] = {}
    for requirement in requirements:
        by_key.setdefault(requirement.key, []).append(requirement)
    return {key: test_of(each) for key, each in by_key.items()}
