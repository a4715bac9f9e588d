"""A client of the server under test that hides nothing: answers as values with their codes, watches event by event."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.api_behaviour.objects import binding

SECONDS = 30
JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said: the HTTP code, the decoded body and the `Warning` headers."""

    code: int
    body: Any
    warnings: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """The reason of a refusal."""
        reason: str = self.body.get("reason", "")
        return reason

    @property
    def message(self) -> str:
        """The message of a refusal."""
        message: str = self.body["message"]
        return message

    @property
    def names(self) -> list[str]:
        """The names of the objects of a list."""
        return [item["metadata"]["name"] for item in self.body["items"]]

    @property
    def version(self) -> str:
        """The resource version of an object or a list."""
        version: str = self.body["metadata"]["resourceVersion"]
        return version


class Watch:
    """An open watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.code = response.status

    async def next(self) -> tuple[str, Any]:
        """The type and object of the next event."""
        async with asyncio.timeout(SECONDS):
            line = await self._response.content.readline()
        assert line, "the server has ended the watch"
        event = json.loads(line)
        return event["type"], event["object"]

    async def next_name(self) -> tuple[str, str]:
        """The type of the next event and the name of its object."""
        kind, obj = await self.next()
        return kind, obj["metadata"]["name"]

    async def rest(self) -> list[str]:
        """The types of all events until the server ends the watch."""
        async with asyncio.timeout(SECONDS):
            lines = (await self._response.read()).splitlines()
        return [json.loads(line)["type"] for line in lines]


async def eventually(attempt: Callable[[], Awaitable[Answer]], good: Callable[[Answer], bool]) -> Answer:
    """The first good answer of several attempts: admission in kube-apiserver hears of other objects a moment late."""
    async with asyncio.timeout(SECONDS):
        while not good(answer := await attempt()):  # noqa: ASYNC110 - there is nothing to wait for but time
            await asyncio.sleep(0.02)
    return answer


class Server:
    """One server under test, and the namespace in it that belongs to the test."""

    def __init__(self, session: aiohttp.ClientSession, namespace: str) -> None:
        self._session = session
        self.namespace = namespace

    def path(self, resource: str, *below: str, group: str = "", namespace: str = "") -> str:
        """The path of a namespaced resource, with a name and a subresource below it; `group` as `apps/v1`."""
        root = f"/apis/{group}" if group else "/api/v1"
        return "/".join([root, "namespaces", namespace or self.namespace, resource, *below])

    def pods(self, *below: str) -> str:
        """The path of the pods, of one pod or of one of its subresources."""
        return self.path("pods", *below)

    def pod_groups(self, *below: str) -> str:
        """The path of the PodGroups."""
        return self.path("podgroups", *below, group="scheduling.x-k8s.io/v1alpha1")

    async def get(self, path: str, *, accept: str = JSON, **query: object) -> Answer:
        """Reads an object, a list or a document."""
        return await self._send("GET", path, None, {"Accept": accept}, query)

    async def post(self, path: str, body: Mapping[str, Any], **query: object) -> Answer:
        """Creates an object, or acts on one."""
        return await self._send("POST", path, body, {"Content-Type": JSON}, query)

    async def put(self, path: str, body: Mapping[str, Any], **query: object) -> Answer:
        """Replaces an object."""
        return await self._send("PUT", path, body, {"Content-Type": JSON}, query)

    async def patch(self, path: str, body: Any, content_type: str = MERGE, **query: object) -> Answer:
        """Changes an object by a patch."""
        return await self._send("PATCH", path, body, {"Content-Type": content_type}, query)

    async def apply(self, path: str, body: Mapping[str, Any], manager: str, **query: object) -> Answer:
        """Applies a configuration on the server's side."""
        return await self.patch(path, body, APPLY, fieldManager=manager, **query)

    async def delete(self, path: str, body: Mapping[str, Any] | None = None, **query: object) -> Answer:
        """Deletes an object, or all of a list."""
        return await self._send("DELETE", path, body, {"Content-Type": JSON}, query)

    async def bind(self, pod: str, node: str) -> Answer:
        """Binds a pod, and lists pods until the server's own cache knows it.

        kube-apiserver begins a deletion with the cached pod. If the Binding is newer, it takes the grace period of an
        unscheduled pod, zero, and keeps it for the second attempt: the bound pod vanishes at once (11 of 400 times).
        """
        answer = await self.post(self.pods(pod, "binding"), binding(pod, node))
        await self.get(self.pods())
        return answer

    @asynccontextmanager
    async def watch(self, path: str, *, accept: str = JSON, **query: object) -> AsyncIterator[Watch]:
        """Watches a list for as long as the context lasts."""
        parameters = _texts(query | {"watch": "true"})
        async with self._session.get(path, params=parameters, headers={"Accept": accept}) as response:
            yield Watch(response)

    async def _send(
        self, method: str, path: str, body: Any, headers: Mapping[str, str], query: Mapping[str, object]
    ) -> Answer:
        data = None if body is None else io.BytesIO(json.dumps(body).encode())
        async with (
            asyncio.timeout(SECONDS),
            self._session.request(method, path, data=data, headers=headers, params=_texts(query)) as response,
        ):
            text = await response.text()
            body = json.loads(text) if text.startswith("{") else text
            return Answer(response.status, body, tuple(response.headers.getall("Warning", ())))


def _texts(query: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in query.items()}
