"""Objects that a test takes away: the next one begins when they are gone, not when the server has been asked."""

from http import HTTPStatus
from typing import Any

from tests.controlplane.api import Api, ApiError
from tests.e2e.eventually import eventually

_WITHIN_SECONDS = 90.0
"""A definition goes when the server has seen that no object of it is left, which it tries ever more rarely."""


def is_gone(admin: Api, path: str) -> bool:
    """Whether no object is at this path."""
    return _found(admin, path) is None


def remove(admin: Api, path: str) -> None:
    """Deletes an object, if it is there, and waits until it is gone; its conditions tell what holds it otherwise."""
    if not is_gone(admin, path):
        admin.delete(path)
    try:
        eventually(lambda: is_gone(admin, path), within=_WITHIN_SECONDS)
    except AssertionError as error:
        conditions = (_found(admin, path) or {}).get("status", {}).get("conditions")
        raise AssertionError(f"{path} is still there: {conditions}") from error


def _found(admin: Api, path: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = admin.get(path)
    except ApiError as error:
        if error.code == HTTPStatus.NOT_FOUND:
            return None
        raise
    return found
