"""Label selectors of API objects: which sets of labels they pick.

Affinity terms, spread constraints and controllers carry them. The rules, and what is wrong with a selector in
kube-scheduler's words, are those of `metav1.LabelSelectorAsSelector`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

import msgspec

from .meta import Wire
from .names import label_key_faults, label_value_faults

Pair = tuple[str, str]


class LabelSelectorRequirement(Wire):
    """One expression over a set of labels."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Wire):
    """Labels and expressions that must all hold. One without any picks everything, none at all picks nothing."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class SelectorError(ValueError):
    """A selector that cannot be read; the text is the API machinery's."""


class Requirement(NamedTuple):
    """An expression that has been read: `operator` is one of In, NotIn, Exists, DoesNotExist."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def accepts(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet it. Labels without the key meet NotIn and DoesNotExist."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
        return value is None


@dataclass(frozen=True)
class Selector:
    """A selector that has been read. Equal ones pick the same labels.

    Attributes:
        requirements: what must hold, all of it; None for the selector that picks nothing.
    """

    requirements: frozenset[Requirement] | None

    @property
    def empty(self) -> bool:
        """Whether it asks for nothing, and so picks everything."""
        return self.requirements is not None and not self.requirements

    def picks(self, labels: Mapping[str, str]) -> bool:
        """Whether it picks a set of labels."""
        return self.requirements is not None and all(each.accepts(labels) for each in self.requirements)

    def and_labels(self, labels: Mapping[str, str]) -> Selector:
        """The selector that asks for these labels, too."""
        return self if self.requirements is None else Selector(self.requirements | _equal_to(labels))

    def and_all(self, other: Selector) -> Selector:
        """The selector that asks for what `other` asks for, too; one that picks nothing adds nothing."""
        if self.requirements is None or other.requirements is None:
            return self
        return Selector(self.requirements | other.requirements)

    @cached_property
    def anchors(self) -> frozenset[Pair] | None:
        """Labels of which a picked set has at least one, as few as possible; None where there are no such."""
        if self.requirements is None:
            return frozenset()
        listed = [each for each in self.requirements if each.operator == "In"]
        if not listed:
            return None
        key, _, values = min(listed, key=lambda each: (len(each.values), each.key))
        return frozenset((key, value) for value in values)

    @cached_property
    def _hash(self) -> int:
        return hash(self.requirements)

    def __hash__(self) -> int:
        return self._hash


NOTHING: Final = Selector(None)
EVERYTHING: Final = Selector(frozenset())


def with_labels(labels: Mapping[str, str]) -> Selector:
    """The selector of everything that has these labels. They are not checked."""
    return Selector(_equal_to(labels))


def read_selector(selector: LabelSelector | None) -> Selector:
    """The selector that a wire object stands for.

    Raises SelectorError for one that kube-scheduler cannot read.
    """
    if selector is None:
        return NOTHING
    equal = (LabelSelectorRequirement(key, "In", (value,)) for key, value in sorted(selector.match_labels.items()))
    found = []
    for each in (*equal, *selector.match_expressions):
        if each.operator not in _VALUES:
            raise SelectorError(
                f"{json.dumps(each.operator, ensure_ascii=False)} is not a valid label selector operator"
            )
        if faults := tuple(_faults(each)):
            raise SelectorError(joined(faults))
        found.append(Requirement(each.key, each.operator, frozenset(each.values)))
    return Selector(frozenset(found))


_SOME = "for 'in', 'notin' operators, values set can't be empty"
_NONE = "values set must be empty for exists and does not exist"
_VALUES: Final[Mapping[str, str]] = {"In": _SOME, "NotIn": _SOME, "Exists": _NONE, "DoesNotExist": _NONE}
"""Operator -> what is said of values where it takes none, or of none where it takes some."""


def _equal_to(labels: Mapping[str, str]) -> frozenset[Requirement]:
    return frozenset(Requirement(key, "In", frozenset({value})) for key, value in labels.items())


def _faults(requirement: LabelSelectorRequirement) -> Iterator[str]:
    key, values = requirement.key, requirement.values
    if faults := label_key_faults(key):
        yield _invalid("key", key, "; ".join(faults))
    rule = _VALUES[requirement.operator]
    if bool(values) is not (rule is _SOME):
        yield _invalid("values", values or None, rule)
    for index, value in enumerate(values):
        if faults := label_value_faults(value):
            yield _invalid(f"values[{index}][{key}]", value, "; ".join(faults))


def _invalid(place: str, value: object, detail: str) -> str:
    return f"{place}: Invalid value: {json.dumps(value, separators=(',', ':'), ensure_ascii=False)}: {detail}"


def joined(errors: Iterable[str]) -> str:
    """Several errors as the API machinery joins them: each once, and in brackets if there is more than one."""
    texts = tuple(dict.fromkeys(errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


class LabelSet:
    """The properties of a pod that selectors and affinity terms read. Identity is equality.

    Attributes:
        namespace: the pods' namespace.
        labels: their labels, which plugins read and cannot change.
        as_written: the same as the pods' wire structs have it; changes to it have no effect here.
        terminating: whether the pods are being deleted: spreading does not count them, affinity does.
    """

    __slots__ = ("__weakref__", "as_written", "labels", "namespace", "terminating")

    def __init__(self, namespace: str, labels: dict[str, str], terminating: bool) -> None:
        self.namespace = namespace
        self.labels: Mapping[str, str] = MappingProxyType(dict(labels))
        self.as_written = labels
        self.terminating = terminating

    def __repr__(self) -> str:
        return f"LabelSet({self.namespace}, {dict(self.labels)}{', terminating' if self.terminating else ''})"


_sets: WeakValueDictionary[tuple[str, bool, frozenset[tuple[str, str]]], LabelSet] = WeakValueDictionary()


def label_set_of(namespace: str, labels: dict[str, str], *, terminating: bool = False) -> LabelSet:
    """The one LabelSet of all pods that have these labels in this namespace."""
    key = (namespace, terminating, frozenset(labels.items()))
    known = _sets.get(key)
    if known is None:
        known = _sets[key] = LabelSet(namespace, labels, terminating)
    return known
