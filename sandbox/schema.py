"""The fields of the built-in kinds: their names, their types, and how their lists and maps merge.

`schema.json` holds these facts of the API's published OpenAPI document, one line for each struct; `published` makes it.
Decoding asks which fields there are, patches ask how a list merges, and `kubectl explain` is answered from it.

A field is written as its type and then its options. The type is `string`, `core.v1.PodSpec` (another struct), `[T` (a
list of T), `{T` (a map of texts to T) and the like. The options: `merge=` says that a strategic merge merges the value,
and by which key; `keys=` names the keys of server-side apply; `set` says that the list is a set; `atomic` that the
value is one unit to server-side apply; `replace` that a strategic merge replaces it, and
`retain` that it drops the keys that a patch does not list.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

import msgspec

from muster.sandbox.registry import Kind

Path = tuple[str, ...]
"""Where a value is: the names of the fields that lead to it. Items of lists add no step."""

LIST, MAP = "[", "{"
KEY_DEFAULTS = {"protocol": "TCP"}


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a field. `name` is that of a scalar or a struct, or `[` or `{` with the items' type in `item`."""

    name: str
    item: "Type | None" = None
    merges: bool = False
    merge_key: str = ""
    keys: tuple[str, ...] = ()
    is_set: bool = False
    atomic: bool = False
    replaced: bool = False
    retains_keys: bool = False

    def identity(self, item: Mapping[str, object]) -> dict[str, object]:
        """The identity of an item of this list for server-side apply."""
        return {key: item.get(key, KEY_DEFAULTS.get(key)) for key in self.keys}


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct of the API: its fields by their names, and whether server-side apply takes it as one unit."""

    name: str
    fields: Mapping[str, Type] = field(default_factory=dict)
    atomic: bool = False


class Schema(msgspec.Struct):
    """The content of `schema.json`: the struct of each kind, the fields of each struct, and the atomic structs."""

    kinds: dict[str, str]
    structs: dict[str, dict[str, str]]
    atomic: list[str]


@cache
def document() -> Schema:
    """The content of `schema.json`, read once."""
    data = files("muster.sandbox").joinpath("schema.json").read_bytes()
    return msgspec.json.decode(data, type=Schema)


@cache
def struct(name: str) -> Struct | None:
    """The struct of a name; None for the name of a scalar."""
    facts = document()
    if name not in facts.structs:
        return None
    fields = {key: _parsed(text) for key, text in facts.structs[name].items()}
    return Struct(name, fields, name in facts.atomic)


def struct_of(kind: Kind) -> Struct | None:
    """The struct of a kind's objects; None for custom resources, which have a schema of their own."""
    return struct(document().kinds.get(f"{kind.api_version} {kind.kind}", ""))


def _parsed(text: str) -> Type:
    name, *options = text.split(" ")
    values = dict(option.partition("=")[::2] for option in options)
    return Type(
        name[0] if name[0] in (LIST, MAP) else name,
        _parsed(name[1:]) if name[0] in (LIST, MAP) else None,
        merges="merge" in values,
        merge_key=values.get("merge", ""),
        keys=tuple(values["keys"].split(",")) if "keys" in values else (),
        is_set="set" in values,
        atomic="atomic" in values,
        replaced="replace" in values,
        retains_keys="retain" in values,
    )


def type_at(kind: Kind, path: Path) -> Type | None:
    """The type of the field at a path of a kind's objects, or None where there is no such field."""
    root = struct_of(kind)
    return _type_at(root.name, path) if root else None


@cache
def _type_at(root: str, path: Path) -> Type:
    found: Type | None = Type(root)
    for step in path:
        while found is not None and found.name == LIST:
            found = found.item
        if found is None:
            return Type("")
        inside = struct(found.name)
        found = inside.fields.get(step) if inside else found.item
    return found or Type("")


def list_rule(kind: Kind, path: Path) -> Type | None:
    """How the list at a path merges, or None where it is one unit. Custom resources take no strategic merge."""
    if kind.custom:
        keys = kind.custom.list_keys.get(path)
        return Type(LIST, keys=keys) if keys else _metadata_rule(path)
    found = type_at(kind, path)
    return found if found and (found.merges or found.keys or found.is_set) else None


def _metadata_rule(path: Path) -> Type | None:
    if path[:1] != ("metadata",):
        return None
    found = _type_at("meta.v1.ObjectMeta", path[1:])
    return found if found.keys or found.is_set else None


def is_atomic_map(kind: Kind, path: Path) -> bool:
    """Whether server-side apply takes the map at a path as one unit."""
    found = type_at(kind, path)
    inside = struct(found.name) if found else None
    return bool(found and found.atomic) or bool(inside and inside.atomic)


def is_replaced(kind: Kind, path: Path) -> bool:
    """Whether a strategic merge replaces the map at a path as a whole."""
    found = type_at(kind, path)
    return found is not None and found.replaced
