"""Decoding: from plain YAML values to models, with kube-scheduler's words for errors.

`load` decodes the configuration with it. Plugins' own argument models, whatever pydantic types they use, pass through
the same function, so an error in a third party's arguments reads like one in kube-scheduler's.
"""

from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from muster.framework.config.fields import wrong_type
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


def decode(model: type[Model], value: object, *, path: str = "") -> tuple[Model | None, list[Problem]]:
    """`(instance, [])`, or `(None, problems)` with every fault; `path` is where `value` stands in the document."""
    try:
        return model.model_validate(value, by_alias=True, by_name=False), []
    except ValidationError as error:
        return None, [_problem(details, path) for details in error.errors(include_url=False)]
    except Exception as error:  # a validator of a plugin's own model
        return None, [invalid(path, value, f"{type(error).__name__}: {error}")]


def _problem(details: ErrorDetails, prefix: str) -> Problem:
    path = _join(prefix, details["loc"])
    kind = details["type"]
    if kind == "extra_forbidden":
        return unknown_field(path)
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
