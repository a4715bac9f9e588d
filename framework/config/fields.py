"""The base of all configuration models and the types of their fields.

Fields read as Go's decoder reads them: nothing is converted (`"16"` is no number, `1` no bool), null means absent, a
mapping may hold known fields only, and numbers have the width of the Go field. Python names are snake case, YAML names
camel case. Models are frozen.
"""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    ValidationInfo,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from muster.framework.config.durations import format_duration, parse_duration
from muster.framework.config.problems import nearest

JSON_KINDS: dict[type, str] = {
    bool: "bool",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


class ConfigModel(BaseModel):
    """A mapping of the configuration. Decode YAML with `decoding.decode`, which takes camel case names only."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _nulls_are_absent(cls, data: Any, info: ValidationInfo) -> Any:
        if data is None:
            return {}
        if isinstance(data, Mapping):
            if isinstance(info.context, Misspellings):
                info.context.note(cls, data)
            return {name: value for name, value in data.items() if value is not None}
        return data


class Misspellings:
    """Fields that models do not know, each with the nearest field that they do know.

    A decoder passes one as the validation's context, because pydantic's errors do not say which model a field is of.
    """

    def __init__(self) -> None:
        self._near: dict[str, str] = {}

    def note(self, model: type[BaseModel], data: Mapping[Any, object]) -> None:
        """Note what `data` holds beside the fields of the model."""
        known = {field.alias or name for name, field in model.model_fields.items()}
        self._near.update({str(name): nearest(str(name), known) for name in data if name not in known})

    def near(self, name: str) -> str:
        """The field that was probably meant, or ""."""
        return self._near.get(name, "")


def unless_zero(default: object) -> AfterValidator:
    """Makes zero and the empty value mean `default`, as Go's defaulting of non-pointer fields does."""
    return AfterValidator(lambda value: value or default)


def wrong_type(value: object, wanted: str) -> PydanticCustomError:
    """The error for a JSON value of the wrong kind, in the words of Go's decoder."""
    kind = JSON_KINDS.get(type(value), type(value).__name__)
    if kind == "number" and wanted.startswith("int"):
        kind = f"number {value}"
    context = {"kind": kind, "wanted": wanted}
    return PydanticCustomError("wrong_type", "cannot unmarshal {kind} into field of type {wanted}", context)


def _integer(bits: int) -> Callable[[object], int]:
    bound = 2 ** (bits - 1)

    def read(value: object) -> int:
        if type(value) is int and -bound <= value < bound:
            return value
        raise wrong_type(value, f"int{bits}")

    return read


def _number(value: object) -> float:
    if type(value) in (int, float):
        return float(value)  # type: ignore[arg-type]  # narrowed by the exact type above; bool is no number here
    raise wrong_type(value, "float32")


def _bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise wrong_type(value, "bool")


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise wrong_type(value, "string")


def _seconds(value: object) -> float:
    text = _text(value)
    try:
        return parse_duration(text)
    except ValueError as error:
        raise PydanticCustomError("malformed_duration", "{reason}", {"reason": str(error)}) from None


def _bytes(value: object) -> bytes:
    text = re.sub(r"[\r\n]", "", _text(value))
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        legal = re.match(r"[A-Za-z0-9+/]*", text)
        place = legal.end() if legal and legal.end() < len(text) else len(text) // 4 * 4
        message = "illegal base64 data at input byte {place}"
        raise PydanticCustomError("malformed_base64", message, {"place": place}) from None


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


Int32 = Annotated[int, BeforeValidator(_integer(32))]
Int64 = Annotated[int, BeforeValidator(_integer(64))]
Number = Annotated[float, BeforeValidator(_number)]
Bool = Annotated[bool, BeforeValidator(_bool)]
Text = Annotated[str, BeforeValidator(_text)]
Seconds = Annotated[float, BeforeValidator(_seconds), PlainSerializer(format_duration, when_used="json")]
"""A duration, read from Go's notation into seconds and written back as Go's notation by JSON dumps."""
Base64 = Annotated[bytes, BeforeValidator(_bytes), PlainSerializer(_base64, when_used="json")]
"""Bytes, base64 in YAML."""
