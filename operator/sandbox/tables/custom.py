"""Columns of custom resources, from the `additionalPrinterColumns` of their definition."""

import re

from muster.operator.sandbox.objects import Object
from muster.operator.sandbox.tables.columns import NAME, Cell, Column
from muster.operator.sandbox.timestamps import age

_STEP = re.compile(r"\.(?P<name>\w+)(?:\[\?\(@\.(?P<key>\w+)==[\"'](?P<value>[^\"']*)[\"']\)\])?")


def columns(printer_columns: list[Object]) -> tuple[Column, ...]:
    """The columns of a custom resource: its name, then those that the definition lists."""
    return (
        NAME,
        *(
            Column(item["name"], _cell(item["jsonPath"], item["type"]), item["type"], item.get("priority", 0))
            for item in printer_columns
        ),
    )


def _cell(path: str, kind: str) -> Cell:
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
