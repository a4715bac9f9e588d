"""PodGroups as the API sends them, and stand-ins for the API and the recorder."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from muster.operator.kube.client import PatchType
from muster.operator.kube.errors import ApiError, Conflict, NotFound
from muster.operator.kube.series import EventKey
from muster.operator.kube.transport import Reply
from muster.plugins.coscheduling.api import PodGroup
from muster.plugins.coscheduling.book import PodGroups


def pod_group(name: str = "train", *, namespace: str = "ml", min_member: int = 3, **spec: Any) -> dict[str, Any]:
    """A PodGroup as a user writes it."""
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minMember": min_member, **spec},
    }


def report(groups: PodGroups, old: PodGroup | None, new: PodGroup | None) -> None:
    """Report a PodGroup to the book as the plugin does."""
    known = groups.get((new or old).key) if new or old else None  # type: ignore[union-attr]  # one of them is there
    if new is None and old is not None:
        groups.follow_group(old.key, None)
    elif new is not None and known is not None and known.metadata.uid == new.metadata.uid and known.spec == new.spec:
        groups.refresh(new.key, new)
    elif new is not None:
        groups.follow_group(new.key, new)


class Recorder:
    """Writes down the Events it is given."""

    def __init__(self) -> None:
        self.keys: list[EventKey] = []

    def record(self, key: EventKey) -> None:
        self.keys.append(key)

    def reported(self) -> list[tuple[str, str, str]]:
        """Type, reason and note of each Event, in order."""
        return [(key.type, key.reason, key.note) for key in self.keys]


class FakeClient:
    """Holds PodGroups, versions them, and applies merge patches to their statuses as the API server does.

    `listen` is called with each PodGroup that changed, as an informer would. Without it, changes are not reported.
    Patches are answered while `answering` is set.
    """

    def __init__(self) -> None:
        self.groups: dict[str, dict[str, Any]] = {}
        self.patches: list[tuple[str, Any]] = []
        self.errors: list[ApiError] = []
        self.listen: Callable[[Mapping[str, Any]], None] | None = None
        self.pods_listed = asyncio.Event()
        self.pods_listed.set()
        self.answering = asyncio.Event()
        self.answering.set()
        self._versions = itertools.count(1)

    def put(self, body: dict[str, Any], **status: Any) -> dict[str, Any]:
        """Create the PodGroup, or replace its spec."""
        meta = body["metadata"]
        known = self.groups.get(f"{meta['namespace']}/{meta['name']}")
        generation, uid = (known["metadata"]["generation"] + 1, known["metadata"]["uid"]) if known else (1, "")
        version = next(self._versions)
        meta = {**meta, "uid": uid or f"uid-{version}", "resourceVersion": str(version), "generation": generation}
        kept = known["status"] if known else {}
        return self._keep({**body, "metadata": meta, "status": {**kept, **status}})

    def delete(self, key: str) -> dict[str, Any]:
        return self.groups.pop(key)

    async def patch(self, path: str, body: bytes, *, kind: PatchType) -> Reply:
        assert kind is PatchType.MERGE
        *_, namespace, _, name, subresource = path.split("/")
        assert subresource == "status"
        change = json.loads(body)
        self.patches.append((f"{namespace}/{name}", change["status"]))
        await asyncio.sleep(0)
        await self.answering.wait()
        if self.errors:
            raise self.errors.pop(0)
        known = self.groups.get(f"{namespace}/{name}")
        if known is None:
            raise NotFound("not found", status=404)
        if change["metadata"]["resourceVersion"] != known["metadata"]["resourceVersion"]:
            raise Conflict("the object has been modified", status=409, reason="Conflict")
        status = {key: value for key, value in {**known["status"], **change["status"]}.items() if value is not None}
        meta = {**known["metadata"], "resourceVersion": str(next(self._versions))}
        changed = self._keep({**known, "metadata": meta, "status": status})
        return Reply(200, json.dumps(changed).encode())

    async def get(self, path: str, *, params: Mapping[str, str]) -> Reply:
        """An empty list of pods, once the test lets it come."""
        await self.pods_listed.wait()
        return Reply(200, b'{"metadata": {"resourceVersion": "1"}, "items": []}')

    async def stream(self, path: str, *, params: Mapping[str, str], silence: float) -> Any:
        @asynccontextmanager
        async def silent() -> AsyncIterator[AsyncIterator[bytes]]:
            yield self._nothing()

        return silent()

    async def _nothing(self) -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    def _keep(self, group: dict[str, Any]) -> dict[str, Any]:
        self.groups[f"{group['metadata']['namespace']}/{group['metadata']['name']}"] = group
        if self.listen is not None:
            self.listen(group)
        return group
