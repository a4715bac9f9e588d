"""All objects of a kind, once, page by page: for commands that look at a cluster and do not follow it."""

from __future__ import annotations

from typing import TypeVar

from .client import ApiClient
from .frames import Decoder
from .informer import PAGE_SIZE, Listed
from .references import HasMetadata

T = TypeVar("T", bound=HasMetadata)


async def list_all(client: ApiClient, resource: Listed[T]) -> list[T]:
    """The objects, less those that do not fit their struct.

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
