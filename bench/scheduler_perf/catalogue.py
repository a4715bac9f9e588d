"""The API as a workload is played over it: requests, and the way from an object to the resource of its kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Api(Protocol):
    """Requests to an API server, such as those of `bench.client.Client`, which says what they do and raise."""

    async def get(self, path: str, **query: str) -> Any:
        """Reads an object or a list."""
        ...

    async def post(self, path: str, body: bytes) -> bytes:
        """Creates an object; the answer."""
        ...

    async def put(self, path: str, body: bytes) -> None:
        """Replaces an object."""
        ...

    async def patch(self, path: str, change: Mapping[str, Any]) -> None:
        """Changes an object by a merge patch."""
        ...

    async def delete(self, path: str, *, at_once: bool = True) -> None:
        """Deletes an object."""
        ...


class UnknownKindError(Exception):
    """A kind that the API server does not serve, or not where it was looked for; the text names it."""


@dataclass(frozen=True, slots=True)
class Resource:
    """Where objects of a kind are.

    Attributes:
        group: the path of the version of their API.
        name: the last part of the path.
        namespaced: whether each is in a namespace.
    """

    group: str
    name: str
    namespaced: bool

    def collection(self, namespace: str | None) -> str:
        """The path of the list of a namespace, or of the only list there is.

        Raises `UnknownKindError` for a namespace where there are none, and without one where there are.
        """
        if self.namespaced == (namespace is None):
            raise UnknownKindError(f"{self.name} are {'' if self.namespaced else 'not '}in a namespace")
        return f"{self.group}/{self.name}" if namespace is None else f"{self.group}/namespaces/{namespace}/{self.name}"


class Catalogue:
    """The kinds that the API server serves, asked once for each version of an API."""

    def __init__(self, client: Api) -> None:
        self._client = client
        self._kinds: dict[str, dict[str, Resource]] = {}

    async def resource(self, made: Mapping[str, Any]) -> Resource:
        """The resource of an object's kind. Raises `UnknownKindError`, and `RefusedError` as `Client` does."""
        version, kind = made["apiVersion"], made["kind"]
        group = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if group not in self._kinds:
            answer = await self._client.get(group)
            self._kinds[group] = {
                each["kind"]: Resource(group, each["name"], each["namespaced"])
                for each in answer["resources"]
                if "/" not in each["name"]  # a subresource
            }
        if (resource := self._kinds[group].get(kind)) is None:
            raise UnknownKindError(f"{version} has no {kind}")
        return resource
