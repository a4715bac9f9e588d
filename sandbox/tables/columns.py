"""Columns of tables: the cells that many kinds have, and the columns of custom resources."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from muster.framework.model.times import age
from muster.sandbox.objects import Object, get_in, metadata

Cell = Callable[[Object, float], Any]
"""Gets an object and the time (seconds since the epoch), returns text, a number, a boolean or None."""

NONE = "<none>"
UNSET = "<unset>"


@dataclass(frozen=True, slots=True)
class Column:
    """A column; kubectl shows those with `priority` 1 only with `-o wide`."""

    name: str
    cell: Cell
    type: str = "string"
    priority: int = 0

    def definition(self) -> Object:
        """The `TableColumnDefinition` of the column."""
        return {
            "name": self.name,
            "type": self.type,
            "format": "name" if self.name == "Name" else "",
            "description": "",
            "priority": self.priority,
        }


def field(path: str, absent: Any = "") -> Cell:
    """A cell with the value at a dotted path, or `absent`."""
    steps = tuple(path.split("."))

    def cell(obj: Object, now: float) -> Any:
        value = get_in(obj, steps)
        return absent if value is None else value

    return cell


def text(path: str, absent: str) -> Cell:
    """A cell with the value at a dotted path as a text, or `absent`."""
    value = field(path)
    return lambda obj, now: str(value(obj, now)) or absent


def count(path: str) -> Cell:
    """A cell with the number of items at a dotted path."""
    steps = tuple(path.split("."))
    return lambda obj, now: len(get_in(obj, steps) or ())


def joined(path: str, absent: str = "") -> Cell:
    """A cell with the texts of a list at a dotted path, separated by commas."""
    steps = tuple(path.split("."))
    return lambda obj, now: ",".join(get_in(obj, steps) or ()) or absent


def phase(obj: Object, now: float) -> str:
    """The phase of a volume or claim, `Terminating` once it is being deleted."""
    if metadata(obj).get("deletionTimestamp"):
        return "Terminating"
    return str(get_in(obj, ("status", "phase")) or "")


def _age(obj: Object, now: float) -> str:
    return age(metadata(obj).get("creationTimestamp"), now)


def wide(name: str, cell: Cell) -> Column:
    """A column that is shown only with `-o wide`."""
    return Column(name, cell, priority=1)


NAME = Column("Name", field("metadata.name"))
AGE = Column("Age", _age)
CREATED_AT = Column("Created At", field("metadata.creationTimestamp"), "date")

_STEP = re.compile(r"\.(?P<name>\w+)(?:\[\?\(@\.(?P<key>\w+)==[\"'](?P<value>[^\"']*)[\"']\)\])?")


def custom_columns(printer_columns: list[Object]) -> tuple[Column, ...]:
    """The columns of a custom resource: its name, then the `additionalPrinterColumns` of its definition, or its age."""
    listed = (
        Column(item["name"], _path_cell(item["jsonPath"], item["type"]), item["type"], item.get("priority", 0))
        for item in printer_columns
    )
    return (NAME, *listed) if printer_columns else (NAME, AGE)


def _path_cell(path: str, kind: str) -> Cell:
    steps = [found.groupdict() for found in _STEP.finditer(path)]

    def cell(obj: Object, now: float) -> object:
        value: object = obj
        for step in steps:
            value = value.get(step["name"]) if isinstance(value, dict) else None
            if step["key"]:
                items = value if isinstance(value, list) else []
                value = next((item for item in items if item.get(step["key"]) == step["value"]), None)
        return age(str(value), now) if kind == "date" and value is not None else value

    return cell
