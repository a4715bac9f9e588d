"""Decoding: from plain YAML values to models, with kube-scheduler's words for errors.

`load` decodes the configuration with it. Plugins' own argument models, whatever pydantic types they use, pass through
the same function, so an error in a third party's arguments reads like one in kube-scheduler's. What cannot be decoded
can be left out (`decode_rest`), so that errors in the rest are reported together with it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from muster.framework.config.fields import Misspellings, wrong_type
from muster.framework.config.problems import Problem, invalid, required, unknown_field

Model = TypeVar("Model", bound=BaseModel)

_WANTED_KINDS = {
    "model_type": "object",
    "model_attributes_type": "object",
    "dict_type": "object",
    "list_type": "array",
    "tuple_type": "array",
    "set_type": "array",
    "string_type": "string",
    "bool_type": "bool",
    "bool_parsing": "bool",
    "int_type": "int64",
    "int_parsing": "int64",
    "int_from_float": "int64",
    "float_type": "float64",
    "float_parsing": "float64",
}


class Decoded(NamedTuple, Generic[Model]):
    """The part of a value that could be decoded.

    Attributes:
        instance: the model of that part; None if there is none.
        problems: every fault.
        unread: the paths of fields that count as absent although the document has them, under whatever name.
    """

    instance: Model | None
    problems: list[Problem]
    unread: frozenset[str]


def decode(model: type[Model], value: object, *, path: str = "") -> tuple[Model | None, list[Problem]]:
    """`(instance, [])`, or `(None, problems)` with every fault; `path` is where `value` stands in the document."""
    misspellings = Misspellings()
    if isinstance(value, Mapping):
        misspellings.note(model, value)
    try:
        return model.model_validate(value, by_alias=True, by_name=False, context=misspellings), []
    except ValidationError as error:
        return None, [_problem(details, path, misspellings) for details in error.errors(include_url=False)]
    except Exception as error:  # a validator of a plugin's own model
        return None, [invalid(path, value, f"{type(error).__name__}: {error}")]


def decode_rest(model: type[Model], value: object) -> Decoded[Model]:
    """The model of `value` without what cannot be decoded, and all faults."""
    misspellings = Misspellings()
    try:
        return Decoded(model.model_validate(value, by_alias=True, by_name=False, context=misspellings), [], frozenset())
    except ValidationError as error:
        faults = error.errors(include_url=False)
    problems = [_problem(details, "", misspellings) for details in faults]
    rest = value
    for details in faults:
        rest = _without(rest, details["loc"])
    instance, _ = decode(model, rest)
    return Decoded(instance, problems, frozenset(_meant(problems)))


def _meant(problems: Iterable[Problem]) -> Iterator[str]:
    """The fields that faults are about: of an unknown field the one that was meant."""
    for problem in problems:
        holder = problem.path.rpartition(".")[0]
        yield problem.path if not problem.near else f"{holder}.{problem.near}" if holder else problem.near


def _without(value: Any, location: tuple[int | str, ...]) -> Any:
    """A copy of `value` in which nothing is at the location. Items of lists keep their places."""
    step, *deeper = location or ("",)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return [*value[:step], _without(value[step], (*deeper,)) if deeper else None, *value[step + 1 :]]
    if isinstance(value, dict) and step in value:
        rest = {key: item for key, item in value.items() if key != step}
        return rest | {step: _without(value[step], (*deeper,))} if deeper else rest
    return value


def _problem(details: ErrorDetails, prefix: str, misspellings: Misspellings) -> Problem:
    path = _join(prefix, details["loc"])
    kind = details["type"]
    if kind == "extra_forbidden":
        return unknown_field(path, misspellings.near(str(details["loc"][-1])))
    if kind == "missing":
        return required(path)
    if kind in _WANTED_KINDS:
        return invalid(path, details["input"], wrong_type(details["input"], _WANTED_KINDS[kind]).message())
    return invalid(path, details["input"], details["msg"].removeprefix("Value error, "))


def _join(prefix: str, location: tuple[int | str, ...]) -> str:
    path = prefix
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path
