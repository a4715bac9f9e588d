"""Constraints between the devices of a claim: an attribute that is equal, or distinct, on all of them.

Both are monotonic: a rejected device stays rejected when more devices are added. A device without the attribute is
rejected.
"""

from __future__ import annotations

from collections.abc import Sequence

from muster.framework.model.devices import DeviceAttribute, DeviceConstraint

from .devices import DeviceKind
from .problem import AllocationFailure, ResolvedRequest

Value = tuple[str, object]


class AttributeConstraint:
    """A constraint during a search. Every `add` that succeeded is undone by a `remove`, last first."""

    __slots__ = ("_attribute", "_distinct", "_requests", "_values")

    def __init__(self, attribute: str, requests: Sequence[str], *, distinct: bool) -> None:
        self._attribute = attribute
        self._requests = frozenset(requests)
        self._distinct = distinct
        self._values: list[Value] = []

    def add(self, wanted: ResolvedRequest, kind: DeviceKind) -> bool:
        """Whether the device may be among those chosen so far."""
        if not self._concerns(wanted):
            return True
        attribute = kind.attribute(self._attribute)
        value = None if attribute is None else _value(attribute)
        if attribute is None or not self._fits(value):
            return False
        self._values.append(value or _UNKNOWN)
        return True

    def remove(self, wanted: ResolvedRequest) -> None:
        """The device added last is not chosen after all."""
        if self._concerns(wanted):
            self._values.pop()

    def _concerns(self, wanted: ResolvedRequest) -> bool:
        return not self._requests or wanted.request in self._requests or wanted.name in self._requests

    def _fits(self, value: Value | None) -> bool:
        if not self._values:
            return True
        if value is None:
            return False
        return value not in self._values if self._distinct else value == self._values[0]


_UNKNOWN: Value = ("", None)


def _value(attribute: DeviceAttribute) -> Value | None:
    """A single value with its type; None for anything else."""
    if attribute.string is not None:
        return "string", attribute.string
    if attribute.int_ is not None:
        return "int", attribute.int_
    if attribute.bool_ is not None:
        return "bool", attribute.bool_
    return None if attribute.version is None else ("version", attribute.version)


def constraints_of(declared: Sequence[DeviceConstraint], claim: int) -> list[AttributeConstraint]:
    """The constraints of the claim with this index. Raises AllocationFailure for one of a kind that is not known."""
    made: list[AttributeConstraint] = []
    for index, each in enumerate(declared):
        if each.match_attribute is not None:
            made.append(AttributeConstraint(each.match_attribute, each.requests, distinct=False))
        elif each.distinct_attribute is not None:
            made.append(AttributeConstraint(each.distinct_attribute, each.requests, distinct=True))
        else:
            text = f", constraint #{index}: empty constraint (unsupported constraint type?)"
            raise AllocationFailure(text, claim)
    return made
