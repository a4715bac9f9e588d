"""Types on the wire: their fields by path, values that fit it and values that do not."""

from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

EXAMPLES: dict[str, Any] = {
    "null": None,
    "boolean": True,
    "integer": 7,
    "number": 0.5,
    "string": "x",
    "array": [],
    "object": {},
}
"""A value of each of JSON's types, integers told from other numbers."""
_ACCEPTED: dict[type[inspect.Type], tuple[str, ...]] = {
    inspect.AnyType: tuple(EXAMPLES),
    inspect.BoolType: ("boolean",),
    inspect.DataclassType: ("object",),
    inspect.DictType: ("object",),
    inspect.FloatType: ("integer", "number"),
    inspect.IntType: ("integer",),
    inspect.ListType: ("array",),
    inspect.LiteralType: ("string",),
    inspect.NoneType: ("null",),
    inspect.RawType: tuple(EXAMPLES),
    inspect.StrType: ("string",),
    inspect.StructType: ("object",),
    inspect.VarTupleType: ("array",),
}

OBJECTS = (inspect.StructType, inspect.DataclassType)
WELL_FORMED: dict[str, st.SearchStrategy[str]] = {
    "nanos": st.sampled_from(["0", "1", "100m", "1.5Gi", "2e3", "-1", "9223372036854775807", "1Ei", "3n"]),
    "_read_time": st.sampled_from(["2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "2026-11-23T10:00:00.12+02:00"]),
}
WORDS = [
    "",
    "a",
    "n",
    "p",
    "muster",
    "x/y",
    "In",
    "Exists",
    "Always",
    "Required",
    "Delete",
    "Bound",
    "NoSchedule",
    "-1",
]
WORDS += ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "cpu", "memory", "hugepages-2Mi", "example.com/gpu"]
WORDS += ["device.driver == 'x'", "a" * 300, "ÿ\u0000", "🦀"]
TEXTS = st.sampled_from(WORDS)
NUMBERS = st.sampled_from([0, 1, 2, 3, -1, 100, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)])


def accepted(type_: inspect.Type) -> frozenset[str]:
    """The types of JSON that fit."""
    match type_:
        case inspect.Metadata():
            return accepted(type_.type)
        case inspect.UnionType():
            return frozenset().union(*map(accepted, type_.types))
    return frozenset(_ACCEPTED[type(type_)])


def least(type_: inspect.Type) -> Any:
    """The smallest value that fits."""
    match type_:
        case inspect.Metadata():
            return least(type_.type)
        case inspect.UnionType():
            return least(type_.types[0])
        case inspect.LiteralType():
            return type_.values[0]
        case inspect.StructType() | inspect.DataclassType():
            tag: dict[str, Any] = {}
            if isinstance(type_, inspect.StructType) and type_.tag_field is not None:
                tag[type_.tag_field] = type_.tag
            return tag | {field.encode_name: least(field.type) for field in type_.fields if field.required}
    return next(value for name, value in EXAMPLES.items() if name in accepted(type_))


def fields(type_: inspect.Type, path: str = "") -> Iterator[tuple[str, inspect.Type, list[Any]]]:
    """Every field, item and entry of a type, with its path as errors have it, its type, and the way to it."""
    match type_:
        case inspect.Metadata():
            yield from fields(type_.type, path)
        case inspect.UnionType():
            for each in type_.types:
                yield from fields(each, path)
        case inspect.StructType() | inspect.DataclassType():
            for field in type_.fields:
                name = field.encode_name
                inner = f"{path}.{name}" if path else name
                yield inner, field.type, [(type_, name)]
                yield from _below(field.type, inner, (type_, name))
        case inspect.ListType() | inspect.VarTupleType():
            yield f"{path}[0]", type_.item_type, [(type_, 0)]
            yield from _below(type_.item_type, f"{path}[0]", (type_, 0))
        case inspect.DictType():
            yield f"{path}[...]", type_.value_type, [(type_, "key")]
            yield from _below(type_.value_type, f"{path}[...]", (type_, "key"))


def _below(type_: inspect.Type, path: str, step: Any) -> Iterator[tuple[str, inspect.Type, list[Any]]]:
    return ((inner, its_type, [step, *way]) for inner, its_type, way in fields(type_, path))


def holding(value: Any, way: list[Any]) -> Any:
    """The smallest document with this value at the end of the way."""
    for type_, step in reversed(way):
        inside = [value] if step == 0 else {step: value}
        value = least(type_) | inside if isinstance(type_, OBJECTS) else inside
    return value


def fitting(type_: inspect.Type) -> st.SearchStrategy[Any]:
    """Values that fit, quantities and times well formed: what the API server lets through."""
    match type_:
        case inspect.Metadata(extra={"read": read}) if read.__name__ in WELL_FORMED:
            return WELL_FORMED[read.__name__]
        case inspect.Metadata():
            return fitting(type_.type)
        case inspect.UnionType():
            return st.one_of([fitting(each) for each in type_.types])
        case inspect.StructType() | inspect.DataclassType():
            given = {field.encode_name: (field.required, fitting(field.type)) for field in type_.fields}
            return st.fixed_dictionaries(
                {name: values for name, (required, values) in given.items() if required},
                optional={name: values for name, (required, values) in given.items() if not required},
            )
        case inspect.ListType() | inspect.VarTupleType():
            return st.lists(fitting(type_.item_type), max_size=2)
        case inspect.DictType():
            return st.dictionaries(TEXTS, fitting(type_.value_type), max_size=2)
        case inspect.StrType():
            return TEXTS
        case inspect.IntType():
            return NUMBERS.filter(lambda number: (type_.ge or -(2**63)) <= number <= (type_.le or 2**63 - 1))
        case inspect.FloatType():
            return st.floats(allow_nan=False, allow_infinity=False)
    return st.just(least(type_))


def type_info(kind: Any) -> inspect.Type:
    """The type as msgspec sees it."""
    return msgspec.inspect.type_info(kind)
