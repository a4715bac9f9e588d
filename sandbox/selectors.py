"""Label and field selectors: parsed once per request, then matched against stored objects.

Called by lists, watches and collection deletes with the texts of the query, and by evictions with the selector object
of a disruption budget.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from muster.sandbox.errors import bad_request
from muster.sandbox.objects import Object, get_in, metadata
from muster.sandbox.registry import Kind, Selectable

Labels = Mapping[str, str]
Test = Callable[[Object], bool]

_KEY = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_REQUIREMENT = re.compile(
    rf"""\s*(?:
        (?P<key>{_KEY})\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)
      | (?P<left>{_KEY})\s*(?P<operator>==|!=|=|>|<)\s*(?P<right>{_VALUE})
      | (?P<absent>!)?\s*(?P<bare>{_KEY})
    )\s*(?:,|$)""",
    re.VERBOSE,
)
_FIELD = re.compile(r"(?P<path>[^=!]+?)(?P<operator>==|!=|=)(?P<value>.*)")


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One condition on the labels of an object; `operator` is that of a `LabelSelectorRequirement` (or Gt, Lt)."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def holds(self, labels: Labels) -> bool:
        """Whether an object with these labels fulfils the condition."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        (bound,) = self.values
        try:
            left, right = int(value or ""), int(bound)
        except ValueError:
            return False
        return left > right if self.operator == "Gt" else left < right


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection of a request from a kind; `None` for a part that selects everything.

    `name` is set where the field selector asks for one object by name, so that it can be looked up directly.
    """

    labels: tuple[LabelRequirement, ...] = ()
    fields: tuple[Test, ...] = ()
    name: str | None = None

    @property
    def everything(self) -> bool:
        """Whether no object can be left out."""
        return not self.labels and not self.fields

    def matches(self, obj: Object) -> bool:
        """Whether an object, in its stored form, is selected."""
        if self.labels:
            labels = metadata(obj).get("labels") or {}
            if not all(requirement.holds(labels) for requirement in self.labels):
                return False
        return all(test(obj) for test in self.fields)


EVERYTHING = Selection()


def parse(kind: Kind, *, labels: str = "", fields: str = "") -> Selection:
    """The selection that the query parameters `labelSelector` and `fieldSelector` mean; raises 400 on nonsense."""
    if not labels and not fields:
        return EVERYTHING
    tests, name = _parse_fields(kind, fields)
    return Selection(_parse_labels(labels), tests, name)


def from_label_selector(selector: Object | None) -> tuple[LabelRequirement, ...]:
    """The requirements of a `metav1.LabelSelector` object."""
    selector = selector or {}
    equal = [
        LabelRequirement(key, "In", frozenset([value])) for key, value in (selector.get("matchLabels") or {}).items()
    ]
    return (
        *equal,
        *(
            LabelRequirement(item["key"], item["operator"], frozenset(item.get("values") or ()))
            for item in selector.get("matchExpressions") or ()
        ),
    )


def _parse_labels(text: str) -> tuple[LabelRequirement, ...]:
    requirements, position = [], 0
    while position < len(text):
        found = _REQUIREMENT.match(text, position)
        if found is None:
            raise bad_request(f"unable to parse requirement: {text[position:]!r} is no label selector")
        requirements.append(_requirement(found))
        position = found.end()
    return tuple(requirements)


_SYMBOLS = {"=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt", "in": "In", "notin": "NotIn"}


def _requirement(found: re.Match[str]) -> LabelRequirement:
    if found["set"]:
        values = frozenset(value.strip() for value in found["values"].split(","))
        return LabelRequirement(found["key"], _SYMBOLS[found["set"]], values)
    if found["operator"]:
        return LabelRequirement(found["left"], _SYMBOLS[found["operator"]], frozenset([found["right"]]))
    return LabelRequirement(found["bare"], "DoesNotExist" if found["absent"] else "Exists")


def _parse_fields(kind: Kind, text: str) -> tuple[tuple[Test, ...], str | None]:
    tests: list[Test] = []
    name = None
    for term in re.split(r"(?<!\\),", text):
        if not term:
            continue
        found = _FIELD.fullmatch(term)
        if found is None:
            raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
        path, value = found["path"].strip(), re.sub(r"\\(.)", r"\1", found["value"])
        wanted = found["operator"] != "!="
        if path == "metadata.name" and wanted:
            name = value
        tests.append(_field_test(_selectable(kind, path), value, wanted))
    return tuple(tests), name


def _selectable(kind: Kind, path: str) -> Selectable:
    if path == "metadata.name" or (path == "metadata.namespace" and kind.namespaced):
        return Selectable(tuple(path.split(".")))
    if path in kind.selectable:
        return kind.selectable[path]
    raise bad_request(f"field label not supported: {path}")


def _field_test(selectable: Selectable, value: str, wanted: bool) -> Test:
    path, absent = selectable.path, selectable.absent

    def test(obj: Object) -> bool:
        return (_text(get_in(obj, path), absent) == value) is wanted

    return test


def _text(value: object, absent: str) -> str:
    if value is None:
        return absent
    return str(value).lower() if isinstance(value, bool) else str(value)
