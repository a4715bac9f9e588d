"""The handler's view ends up as the server's state, whatever the server does to its objects and to its clients."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from muster.operator.kube.client import ApiClient
from muster.operator.kube.errors import Gone, Unreachable
from muster.operator.kube.informer import Informer, Listed, Timing
from muster.operator.kube.transport import Reply

from .conftest import Time
from .things import PATH, Journal, Thing, bookmark, error_frame, frame, page, thing

NAMES = "abcd"

steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["put", "delete", "recreate"]), st.sampled_from(NAMES)),
        st.tuples(st.sampled_from(["bookmark", "cut", "end", "expire", "error", "garbage", "compact"]), st.just("")),
    ),
    max_size=40,
)


class TwistedServer(ApiClient):
    """A server in memory that goes through a script of changes and mishaps, one step per chunk it sends."""

    def __init__(self, script: list[tuple[str, str]], cuts: list[int]) -> None:
        self._script = script
        self._cuts = cuts
        self._version = 100
        self._oldest = 0
        self._history: list[tuple[int, bytes]] = []
        self.objects: dict[str, dict[str, Any]] = {}
        self.finished = asyncio.Event()

    async def get(self, path: str, *, params: Mapping[str, str] | None = None) -> Reply:
        """Pages of two; a step of the script may happen between them and expire the token."""
        token = (params or {}).get("continue", "")
        names = sorted(self.objects)
        if token:
            version, start = (int(part) for part in token.split(":"))
            if version != self._version:
                raise Gone("the token is too old", status=410)
        else:
            start = 0
        end = start + 2
        more = f"{self._version}:{end}" if end < len(names) else ""
        reply = Reply(200, json.dumps(page([self.objects[n] for n in names[start:end]], self._version, more)).encode())
        if more and self._script and self._script[0][0] in ("put", "delete", "recreate"):
            self._change(*self._script.pop(0))
        return reply

    def stream(self, path: str, *, params: Mapping[str, str], silence: float) -> Any:
        async def opened() -> Any:
            return self._opened(int(params["resourceVersion"]))

        return opened()

    @asynccontextmanager
    async def _opened(self, version: int) -> AsyncIterator[AsyncIterator[bytes]]:
        if version < self._oldest:
            raise Gone("too old resource version", status=410)
        yield self._chunks(version)

    async def _chunks(self, version: int) -> AsyncIterator[bytes]:
        while True:
            for at, line in list(self._history):
                if at > version:
                    version = at
                    cut = self._cuts.pop() % len(line) if self._cuts else 0
                    yield line[:cut]
                    yield line[cut:]
            if not self._script:
                self.finished.set()
                await asyncio.Event().wait()
            match self._script.pop(0):
                case "bookmark", _:
                    yield bookmark(self._version)
                case "cut", _:
                    yield b'{"type":"ADDED","obj'
                    raise Unreachable("broken")
                case "end", _:
                    return
                case "expire", _:
                    yield error_frame(410, "Expired")
                case "error", _:
                    yield error_frame(500, "InternalError")
                case "garbage", _:
                    yield b"}{\n"
                case "compact", _:
                    self._oldest = self._version + 1
                    self._version += 1
                    self._history.clear()
                    return
                case kind, name:
                    self._change(kind, name)

    def _change(self, kind: str, name: str) -> None:
        old = self.objects.get(name)
        if kind in ("delete", "recreate") and old is not None:
            self._version += 1
            del self.objects[name]
            self._log("DELETED", {**old, "metadata": {**old["metadata"], "resourceVersion": str(self._version)}})
        if kind == "delete":
            return
        self._version += 1
        known = self.objects.get(name)
        uid = known["metadata"]["uid"] if known else f"uid-{self._version}"
        self.objects[name] = thing(name, self._version, uid=uid, size=self._version)
        self._log("MODIFIED" if known else "ADDED", self.objects[name])

    def _log(self, type_: str, payload: dict[str, Any]) -> None:
        self._history.append((self._version, frame(type_, payload)))


@given(script=steps, cuts=st.lists(st.integers(0, 200)))
async def test_the_handlers_view_is_the_servers_state_in_the_end(
    script: list[tuple[str, str]], cuts: list[int]
) -> None:
    time = Time()
    server = TwistedServer(list(script), list(cuts))
    journal = Journal()
    timing = Timing(sleep=time.sleep, random=lambda: 0.0, clock=time.clock)
    task = asyncio.create_task(Informer(server, Listed(PATH, Thing), journal, timing=timing).run())
    async with asyncio.timeout(10):
        await server.finished.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    heard = {name: obj.metadata.resource_version for name, obj in journal.view.items()}
    assert heard == {name: obj["metadata"]["resourceVersion"] for name, obj in server.objects.items()}
