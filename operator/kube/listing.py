"""Reading one object, or all of a kind, once: for commands that do not follow a cluster, and for doubts about one pod.

An answer that is not from a Kubernetes API server, such as a page of HTML, raises `NotKubernetes`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from muster.framework.contract.api import pod_path
from muster.framework.contract.handle import HasMetadata
from muster.framework.model.faults import fault
from muster.framework.model.meta import Identity

from .client import ApiClient
from .errors import NotKubernetes
from .frames import Decoder, GarbageError
from .informer import PAGE_SIZE, Listed

T = TypeVar("T", bound=HasMetadata)
Object = TypeVar("Object")


async def list_all(client: ApiClient, resource: Listed[T]) -> list[T]:
    """The objects, read page by page, without objects that do not fit the struct.

    Raises ApiError.
    """
    decoder = Decoder(resource.type)
    items: list[T] = []
    params = {"limit": str(PAGE_SIZE)}
    if resource.field_selector:
        params["fieldSelector"] = resource.field_selector
    if resource.label_selector:
        params["labelSelector"] = resource.label_selector
    while True:
        body = (await client.get(resource.path, params=params)).body
        try:
            page = decoder.page(body)
        except GarbageError as error:
            raise _foreign(resource.path, str(error)) from error
        items += page.items
        if not page.next_page:
            return items
        params["continue"] = page.next_page


async def read_object(client: ApiClient, path: str, kind: type[Object]) -> Object:
    """The object at this path. Raises ApiError."""
    return _decoded((await client.get(path)).body, kind, path)


async def list_one(client: ApiClient, pod: Identity) -> bytes:
    """The list of the pod of this name, or of none: Muster may list pods, but not get one. Raises ApiError."""
    path, _, name = pod_path(pod).rpartition("/")
    return (await client.get(path, params={"fieldSelector": f"metadata.name={name}"})).body


class _RawPage(msgspec.Struct):
    """A page of a list with undecoded items."""

    items: list[msgspec.Raw] = []
    metadata: dict[str, Any] = {}


async def list_raw(client: ApiClient, path: str, *, label_selector: str = "") -> list[msgspec.Raw]:
    """The objects as the server sent them, for commands that print them whole.

    Raises ApiError.
    """
    items: list[msgspec.Raw] = []
    params = {"limit": str(PAGE_SIZE)} | ({"labelSelector": label_selector} if label_selector else {})
    while True:
        page = _decoded((await client.get(path, params=params)).body, _RawPage, path)
        items += page.items
        if not page.metadata.get("continue"):
            return items
        params["continue"] = page.metadata["continue"]


def _decoded(body: bytes, kind: type[Object], path: str) -> Object:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _foreign(path, fault(error)) from error


def _foreign(path: str, problem: str) -> NotKubernetes:
    return NotKubernetes(f"the answer to {path} is not one of a Kubernetes API server: {problem}")
