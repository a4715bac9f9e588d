"""Tables of cases in YAML: what is set, by dotted names, and what comes of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

_DATA = Path(__file__).parent / "data"


def cases(table: str) -> list[Any]:
    """The cases of a table as pytest parameters, named by what they set."""
    listed = yaml.safe_load((_DATA / table).read_text())
    return [pytest.param(case, id=",".join(case["set"]) or "defaults") for case in listed]


def nested(dotted: Mapping[str, Any]) -> dict[str, Any]:
    """`{"a.b": 1}` as values: `{"a": {"b": 1}}`."""
    values: dict[str, Any] = {}
    for path, value in dotted.items():
        *parents, name = path.split(".")
        place = values
        for parent in parents:
            place = place.setdefault(parent, {})
        place[name] = value
    return values


def at(document: Any, path: str) -> Any:
    """What stands at a dotted path; None where nothing does. Keys with dots in them can only be the last."""
    found = document
    while path and found is not None:
        if isinstance(found, dict) and path in found:
            return found[path]
        step, _, path = path.partition(".")
        found = found[int(step)] if isinstance(found, list) else found.get(step)
    return found
