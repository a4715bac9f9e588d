"""Node selector terms, normalized: the combined meaning of several requirements on one label, and on a node's name.

Each value is checked once, however many requirements there are. Node selectors consist of these: see
`muster.framework.model.alternatives` and `muster.framework.model.preferences`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .pod import NodeSelectorRequirement, NodeSelectorTerm
from .quantity import integer

_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LabelTest:
    """A conjunction of well-formed requirements on one label.

    Attributes:
        among: the values that will do; None for any.
        without: the values that will not.
        over, under: the bounds between which the value's number has to be, exclusive; None for no bound.
        present: whether the label has to be there.
        absent: whether it must not be there.
    """

    among: frozenset[str] | None = None
    without: frozenset[str] = _NOTHING
    over: int | None = None
    under: int | None = None
    present: bool = False
    absent: bool = False

    def accepts(self, value: str | None) -> bool:
        """Whether a label with this value, or its absence (None), passes."""
        if value is None:
            return not self.present
        if self.absent or value in self.without or (self.among is not None and value not in self.among):
            return False
        if self.over is None and self.under is None:
            return True
        number = integer(value)
        return (
            number is not None
            and (self.over is None or number > self.over)
            and (self.under is None or number < self.under)
        )


def test_of(requirements: Iterable[NodeSelectorRequirement]) -> LabelTest:
    """One test for these well-formed requirements, all of one key."""
    among: frozenset[str] | None = None
    without: set[str] = set()
    over: int | None = None
    under: int | None = None
    present = absent = False
    for requirement in requirements:
        match requirement.operator:
            case "In":
                among = frozenset(requirement.values) if among is None else among.intersection(requirement.values)
            case "NotIn":
                without.update(requirement.values)
            case "Gt":
                over = max(over, bound_of(requirement)) if over is not None else bound_of(requirement)
            case "Lt":
                under = min(under, bound_of(requirement)) if under is not None else bound_of(requirement)
        if requirement.operator == "DoesNotExist":
            absent = True
        elif requirement.operator != "NotIn":
            present = True
    return LabelTest(among, frozenset(without), over, under, present, absent)


def bound_of(requirement: NodeSelectorRequirement) -> int:
    """The number of a well-formed `Gt` or `Lt`."""
    bound = integer(requirement.values[0])
    assert bound is not None, "well-formed"
    return bound


NAME_FIELD = "metadata.name"


@dataclass(frozen=True, slots=True)
class Conjunction:
    """The requirements of one term.

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
