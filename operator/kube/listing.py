"""All objects of a kind, listed once: for commands that look at a cluster and do not follow it."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from muster.framework.contract.handle import HasMetadata

from .client import ApiClient
from .frames import Decoder
from .informer import PAGE_SIZE, Listed

T = TypeVar("T", bound=HasMetadata)


async def list_all(client: ApiClient, resource: Listed[T]) -> list[T]:
    """The objects, page by page, less those that do not fit their struct.

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
        page = decoder.page((await client.get(resource.path, params=params)).body)
        items += page.items
        if not page.next_page:
            return items
        params["continue"] = page.next_page


class _RawPage(msgspec.Struct):
    """A page of a list whose items are left as the server wrote them."""

    items: list[msgspec.Raw] = []
    metadata: dict[str, Any] = {}


async def list_raw(client: ApiClient, path: str, *, label_selector: str = "") -> list[msgspec.Raw]:
    """The objects as the server has them, for commands that print them whole.

    Raises ApiError.
    """
    items: list[msgspec.Raw] = []
    params = {"limit": str(PAGE_SIZE)} | ({"labelSelector": label_selector} if label_selector else {})
    while True:
        page = msgspec.json.decode((await client.get(path, params=params)).body, type=_RawPage)
        items += page.items
        if not page.metadata.get("continue"):
            return items
        params["continue"] = page.metadata["continue"]
