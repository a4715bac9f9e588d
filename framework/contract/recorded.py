"""The contents of a plugin's objects and arguments, so that a copy of a recording can be anonymized.

An anonymous copy replaces all words that an organisation chose. A text about which the plugin says nothing counts as
chosen: such a plugin's objects lose their own words too, and nothing is disclosed.

Public, like the package.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, NamedTuple, Protocol

__all__ = [
    "CONDITION_CONTENT",
    "Content",
    "MapContent",
    "RecordedContents",
    "Renamer",
    "Rule",
    "SpelledOutError",
    "TextKind",
]


class TextKind(Enum):
    """The kind of content of a text."""

    NAME = auto()
    """Words that an organisation chose."""
    KEPT = auto()
    """One of the API's own words, a time, a version of an object: nothing that anybody chose."""
    KEY = auto()
    """A label key, or what is formed like one."""
    RESOURCE = auto()
    """The name of a resource of nodes."""
    IMAGE = auto()
    """An image with its tag."""
    DRIVER = auto()
    """The name of a driver or provisioner of volumes."""
    DISK = auto()
    """A volume as its cloud or driver calls it."""
    API_GROUP = auto()
    """An API group, or an apiVersion."""
    SCHEDULER = auto()
    """The name of a scheduler."""
    CONDITION = auto()
    """The type of a pod's condition, or its reason."""
    TEXT = auto()
    """Sentences in which names may be."""
    EXPRESSION = auto()
    """CEL over the attributes of devices."""
    ANNOTATIONS = auto()
    """Annotations: what a value holds depends on its key."""
    ANYTHING = auto()
    """JSON of unknown form."""
    UNREAD = auto()
    """A text on which no decision depends. It is left out."""
    OWNED_KIND = auto()
    """The kind that goes with the `apiVersion` beside it."""
    OBJECT = auto()
    """An object of the kind that the event names."""
    ARGUMENTS = auto()
    """The arguments of the plugin that is named beside them."""
    GROUP = auto()
    """A group of pods as its plugin calls it: `<plugin>/<namespace>/<name>`."""
    CALL = auto()
    """A question to the API."""
    ANSWER = auto()
    """The answer to one, in JSON."""
    BY_PLUGIN = auto()
    """Something for each plugin by its name."""


class Renamer(Protocol):
    """Gives out the other names."""

    def name(self, text: str, /) -> str:
        """The text with every word replaced."""
        ...


Rule = Callable[[str, Renamer], str]
"""Writes a text with other names. Raises SpelledOutError."""


class MapContent(NamedTuple):
    """A map: what its keys hold, and its values where they are texts."""

    keys: TextKind
    values: TextKind | Rule = TextKind.KEPT


Content = TextKind | MapContent | Rule

CONDITION_CONTENT: Mapping[str, Content] = {
    "type": TextKind.CONDITION,
    "status": TextKind.KEPT,
    "reason": TextKind.CONDITION,
    "message": TextKind.TEXT,
    "lastTransitionTime": TextKind.KEPT,
}
"""What the fields of a condition hold, in the form that all of Kubernetes' own conditions have."""


class SpelledOutError(Exception):
    """A text that means something else with other names."""


@dataclass(frozen=True, slots=True)
class RecordedContents:
    """The description of a plugin's objects and arguments to recordings.

    Attributes:
        fields: by struct, or model of the arguments, what its fields hold, by their names in JSON.
        inner: by struct and field, the struct that a field typed as plain JSON contains.
        lists_of_keys: annotations whose value is keys, separated by commas.
        settings: the values of annotations that are neither names nor amounts.
        expression: writes an expression in its objects with other names, if they have expressions. Raises
            SpelledOutError.
    """

    fields: Mapping[type[Any], Mapping[str, Content]] = field(default_factory=dict)
    inner: Mapping[tuple[type[Any], str], type[Any]] = field(default_factory=dict)
    lists_of_keys: Collection[str] = ()
    settings: Collection[str] = ()
    expression: Rule | None = None
