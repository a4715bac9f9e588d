"""JSON patch (RFC 6902): a list of operations, carried out in order or not at all."""

from collections.abc import Callable
from typing import Any

from muster.operator.sandbox.errors import bad_request, unprocessable

Edit = Callable[[Any, str], Any]
"""Gets the container that holds a value and the last step of the path to it; returns the changed container."""


class _FailedError(Exception):
    """An operation cannot be carried out on this document."""


def apply(document: Any, operations: Any) -> Any:
    """The document after all operations; it is not changed itself.

    Raises 400 for what is no patch, and 422 for a failed test or a path that does not exist.
    """
    if not isinstance(operations, list) or not all(isinstance(operation, dict) for operation in operations):
        raise bad_request("json: cannot unmarshal the patch into a list of operations")
    try:
        for operation in operations:
            document = _apply_one(document, operation)
    except (_FailedError, KeyError) as error:
        raise unprocessable() from error
    return document


def _apply_one(document: Any, operation: dict[str, Any]) -> Any:
    path = _steps(operation["path"])
    match operation["op"]:
        case "add":
            return _at(document, path, _inserting(operation["value"]))
        case "remove":
            return _at(document, path, _remove)
        case "replace":
            return _at(document, path, _replacing(operation["value"]))
        case "copy":
            return _at(document, path, _inserting(_value(document, _steps(operation["from"]))))
        case "move":
            source = _steps(operation["from"])
            value = _value(document, source)
            return _at(_at(document, source, _remove), path, _inserting(value))
        case "test":
            if _value(document, path) != operation.get("value"):
                raise _FailedError
            return document
        case _:
            raise _FailedError


def _steps(pointer: str) -> list[str]:
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise _FailedError
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def _value(document: Any, path: list[str]) -> Any:
    for step in path:
        document = _child(document, step)
    return document


def _at(document: Any, path: list[str], edit: Edit) -> Any:
    """A copy of the document, changed by `edit` at the container that the path ends in."""
    if not path:
        return edit({"": document}, "").get("")
    step, rest = path[0], path[1:]
    if not rest:
        return edit(document, step)
    return _replacing(_at(_child(document, step), rest, edit))(document, step)


def _child(container: Any, step: str) -> Any:
    if isinstance(container, dict) and step in container:
        return container[step]
    if isinstance(container, list):
        return container[_index(container, step, len(container) - 1)]
    raise _FailedError


def _index(container: list[Any], step: str, last: int) -> int:
    if not step.isdecimal() or int(step) > last:
        raise _FailedError
    return int(step)


def _inserting(value: Any) -> Edit:
    def edit(container: Any, step: str) -> Any:
        if isinstance(container, dict):
            return container | {step: value}
        if isinstance(container, list):
            index = len(container) if step == "-" else _index(container, step, len(container))
            return [*container[:index], value, *container[index:]]
        raise _FailedError

    return edit


def _replacing(value: Any) -> Edit:
    def edit(container: Any, step: str) -> Any:
        _child(container, step)
        if isinstance(container, dict):
            return container | {step: value}
        return [value if str(index) == step else item for index, item in enumerate(container)]

    return edit


def _remove(container: Any, step: str) -> Any:
    _child(container, step)
    if isinstance(container, dict):
        return {key: item for key, item in container.items() if key != step}
    return [item for index, item in enumerate(container) if str(index) != step]
