"""The API shape of node affinity, as far as the configuration's validation checks its form."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from muster.framework.config.fields import ConfigModel, Int32, Text
from muster.framework.config.problems import Problem, invalid, unsupported
from muster.framework.model.names import label_key_faults, label_value_faults

_FIELD_OPERATORS = ("In", "NotIn")
_SOME = (1, None, "for 'in', 'notin' operators, values set can't be empty")
_NONE = (0, 0, "values set must be empty for exists and does not exist")
_ONE = (1, 1, "for 'Gt', 'Lt' operators, exactly one value is required")
_VALUE_RULES: Final[Mapping[str, tuple[int, int | None, str]]] = {
    "In": _SOME,
    "NotIn": _SOME,
    "Exists": _NONE,
    "DoesNotExist": _NONE,
    "Gt": _ONE,
    "Lt": _ONE,
}
"""Operator -> least and most values it takes, and what is said of any other number."""


class _NodeSelectorRequirement(ConfigModel):
    """One comparison of a label or a field. `values` is None when absent, which messages show as null."""

    key: Text = ""
    operator: Text = ""
    values: tuple[Text, ...] | None = None

    def label_problems(self, path: str) -> Iterator[Problem]:
        """The problems with a comparison of a label."""
        if self.operator not in _VALUE_RULES:
            yield unsupported(f"{path}.operator", self.operator, tuple(_VALUE_RULES))
            return
        values = self.values or ()
        if faults := label_key_faults(self.key):
            yield invalid(f"{path}.key", self.key, "; ".join(faults))
        least, most, detail = _VALUE_RULES[self.operator]
        if len(values) < least or (most is not None and len(values) > most):
            yield invalid(f"{path}.values", self.values, detail)
        for index, value in enumerate(values):
            place = f"{path}.values[{index}]"
            if self.operator in ("Gt", "Lt") and not _is_int64(value):
                yield invalid(place, value, "for 'Gt', 'Lt' operators, the value must be an integer")
        for index, value in enumerate(values):
            if faults := label_value_faults(value):
                yield invalid(f"{path}.values[{index}][{self.key}]", value, "; ".join(faults))

    def field_problems(self, path: str) -> Iterator[Problem]:
        """The problems with a comparison of a field such as metadata.name."""
        if self.operator not in _FIELD_OPERATORS:
            yield unsupported(f"{path}.operator", self.operator, _FIELD_OPERATORS)
        elif len(self.values or ()) != 1:
            yield invalid(f"{path}.values", self.values, "must have one element")


class _NodeSelectorTerm(ConfigModel):
    """Comparisons that must all hold; a term without any matches no node."""

    match_expressions: tuple[_NodeSelectorRequirement, ...] = ()
    match_fields: tuple[_NodeSelectorRequirement, ...] = ()

    def problems(self, path: str) -> Iterator[Problem]:
        """The problems with the term at `path`."""
        for index, requirement in enumerate(self.match_expressions):
            yield from requirement.label_problems(f"{path}.matchExpressions[{index}]")
        for index, requirement in enumerate(self.match_fields):
            yield from requirement.field_problems(f"{path}.matchFields[{index}]")


class _NodeSelector(ConfigModel):
    """Terms of which one must match."""

    node_selector_terms: tuple[_NodeSelectorTerm, ...] = ()


class _PreferredSchedulingTerm(ConfigModel):
    """A term that adds `weight` to a node's score where it matches."""

    weight: Int32 = 0
    preference: _NodeSelectorTerm = _NodeSelectorTerm()


class AddedAffinity(ConfigModel):
    """Node affinity as in a pod's spec."""

    required_during_scheduling_ignored_during_execution: _NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[_PreferredSchedulingTerm, ...] = ()

    def problems(self, path: str) -> Iterator[Problem]:
        """The problems with the affinity at `path`. Terms of weight 0 are not looked at, as in kube-scheduler."""
        if required := self.required_during_scheduling_ignored_during_execution:
            place = f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
            for index, term in enumerate(required.node_selector_terms):
                yield from term.problems(f"{place}[{index}]")
        place = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
        for index, preferred in enumerate(self.preferred_during_scheduling_ignored_during_execution):
            if preferred.weight:
                yield from preferred.preference.problems(f"{place}[{index}]")


def _is_int64(text: str) -> bool:
    return re.fullmatch(r"[-+]?[0-9]+", text, re.ASCII) is not None and -(2**63) <= int(text) < 2**63
