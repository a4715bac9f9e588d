"""Custom resources: what the definitions that Muster ships say of them.

The definition of PodGroups is rendered from Muster's own models, and this server takes it at its word as a real one
would: fields, limits, merging and columns all come from there.
"""

from collections.abc import Iterator
from typing import Any

from muster.operator.podgroups.definition import definition
from muster.operator.sandbox.kinds import POD_GROUPS, Kind
from muster.operator.sandbox.objects import Object

DEFINITIONS = {POD_GROUPS: definition()}


def _version(kind: Kind) -> Object:
    versions: list[Object] = DEFINITIONS[kind]["spec"]["versions"]
    return next(version for version in versions if version["name"] == kind.version)


def schema(kind: Kind) -> Object:
    """The structural schema of a kind."""
    found: Object = _version(kind)["schema"]["openAPIV3Schema"]
    return found


def printer_columns(kind: Kind) -> list[Object]:
    """The columns that a kind has besides its name."""
    columns: list[Object] = _version(kind).get("additionalPrinterColumns") or []
    return columns


def list_keys(kind: Kind) -> dict[tuple[str, ...], tuple[str, ...]]:
    """The lists of a kind whose items have keys: by the path of the list, the names of the keys."""
    return dict(_list_keys(schema(kind), ()))


def _list_keys(node: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    if node.get("x-kubernetes-list-type") == "map":
        yield path, tuple(node["x-kubernetes-list-map-keys"])
    for name, child in (node.get("properties") or {}).items():
        yield from _list_keys(child, (*path, name))
    if "items" in node:
        yield from _list_keys(node["items"], path)


def served(kind: Kind, now: str) -> Object:
    """The definition of a kind as the API shows it: accepted and established."""
    names = DEFINITIONS[kind]["spec"]["names"]
    accepted = {
        "NamesAccepted": ("NoConflicts", "no conflicts found"),
        "Established": ("InitialNamesAccepted", "the initial names have been accepted"),
    }
    conditions = [
        {"type": name, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
        for name, (reason, message) in accepted.items()
    ]
    status = {"acceptedNames": names, "storedVersions": [kind.version], "conditions": conditions}
    return DEFINITIONS[kind] | {"status": status}
