"""Problem: one error in a configuration, in kube-scheduler's words; ConfigurationError: all of them together.

Every module of this package reports errors as `Problem` values, so that they can be collected; only `load` and
`resolve` raise. A problem's text is that of the API machinery's field errors:
`profiles[0].percentageOfNodesToScore: Invalid value: 200: not in valid range [0-100]`. Where a name was mistyped, the
nearest name that exists follows the text: `did you mean "weight"?`.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

from pydantic import BaseModel

_LEAST_LIKENESS: Final = 0.7
_LONGEST_NAME: Final = 100
"""Longer names are not compared: the comparison takes the square of their length."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault in a configuration.

    Attributes:
        path: where it is, e.g. `profiles[0].plugins.score.enabled[1].name`.
        text: kube-scheduler's message.
        near: the name that was probably meant; "" if no name comes close.
        compared: other places whose values the fault follows from.
    """

    path: str
    text: str
    near: str = ""
    compared: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.text}: did you mean {as_json(self.near)}?" if self.near else self.text


class ConfigurationError(ValueError):
    """A configuration that cannot be used.

    `errors` holds every fault that was found, each once, in the order of finding. `str()` joins them as kube-scheduler
    does, `[first, second]`, after the name of the source where that is known.
    """

    def __init__(self, problems: Iterable[Problem], *, source: str = "") -> None:
        self.errors: tuple[Problem, ...] = tuple(dict.fromkeys(problems))
        self.source = source
        super().__init__(_aggregate(self.errors, source))


def _aggregate(errors: Sequence[Problem], source: str) -> str:
    texts = ", ".join(map(str, errors))
    joined = f"[{texts}]" if len(errors) > 1 else texts
    return f"{source}: {joined}" if source else joined


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like a mistyped one; "" if none is like it."""
    if len(name) > _LONGEST_NAME:
        return ""
    names = sorted(known)
    for other in names:
        if other.casefold() == name.casefold():
            return other
    return next(iter(get_close_matches(name, names, 1, _LEAST_LIKENESS)), "")


def invalid(path: str, value: object, detail: str, *, compared: Sequence[str] = ()) -> Problem:
    """A value that is out of bounds or malformed; `compared` are other places that the verdict follows from."""
    return replace(_field_error(path, f"Invalid value: {as_json(value)}", detail), compared=tuple(compared))


def required(path: str, detail: str = "") -> Problem:
    """A value that is missing or empty."""
    return _field_error(path, "Required value", detail)


def unsupported(path: str, value: str, supported: Sequence[str]) -> Problem:
    """A word outside of a closed list."""
    words = ", ".join(as_json(word) for word in supported)
    fault = _field_error(path, f"Unsupported value: {as_json(value)}", f"supported values: {words}")
    return replace(fault, near=nearest(value, supported))


def duplicate(path: str, value: str) -> Problem:
    """A value that has to be unique and is not."""
    return _field_error(path, f"Duplicate value: {as_json(value)}")


def forbidden(path: str, detail: str) -> Problem:
    """A field that must not be set here."""
    return _field_error(path, "Forbidden", detail)


def unknown_field(path: str, near: str = "") -> Problem:
    """A field that kube-scheduler's strict decoder does not know; `near` is the field that was probably meant."""
    return Problem(path, f"strict decoding error: unknown field {as_json(path)}", near)


def repeated_key(path: str, line: int) -> Problem:
    """A key that occurs twice in one YAML mapping; `line` counts from 1."""
    return Problem(path, f"strict decoding error: yaml: line {line}: key {as_json(path)} already set in map")


def as_json(value: object) -> str:
    """`value` as field errors show it: compact JSON, text in double quotes."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    return value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else str(value)


def _field_error(path: str, body: str, detail: str = "") -> Problem:
    return Problem(path, f"{path}: {body}: {detail}" if detail else f"{path}: {body}")
