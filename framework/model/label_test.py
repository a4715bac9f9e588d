"""What several requirements on one label say together, so that a value is looked at once however many there are.

Node selectors are made of them: `muster.framework.model.alternatives` and `muster.framework.model.preferences`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .integer import integer
from .pod import NodeSelectorRequirement

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
    """What these well-formed requirements, all of one key, come to."""
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
