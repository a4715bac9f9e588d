"""A foreign plugin's groups in a whole process: their statuses, Events, page, metrics and recording."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestClient, TestServer

from muster.framework.config import load
from muster.operator.kube.credentials import load_connection
from muster.operator.kube.transport import Transport
from muster.operator.process.endpoints import endpoints
from muster.operator.process.group_controllers import group_controllers
from muster.operator.process.machine import Machine
from muster.operator.process.process import Process
from muster.operator.process.settings import assemble
from muster.operator.recording.reader import Recording
from muster.operator.recording.replay import Replay
from muster.operator.recording.session import RecordingOptions
from muster.operator.web.process_cluster import mounted
from muster.sandbox import NodeShape, Sandbox
from muster.sandbox.kinds import PODS
from muster.sandbox.registry import Kind

from .objects import CONFIGURATION, DEFINITION, players, team

PATIENCE_SECONDS = 30.0
ASSEMBLY = load(CONFIGURATION, "configuration.yaml")


@dataclass
class Running:
    """A cluster with Muster on it, and where its pages are."""

    sandbox: Sandbox
    client: TestClient[Any, Any]
    process: Process
    look: Callable[[], Awaitable[None]]

    def create(self, *objects: Mapping[str, Any]) -> None:
        """As a user creates them."""
        for each in objects:
            kind = self._kind(each["apiVersion"], each["kind"])
            self.sandbox.store.create(kind, dict(each), namespace="default")

    def phase(self, name: str) -> tuple[str, str]:
        """What the API says of a team."""
        found = self.sandbox.store.get(self._kind("example.com/v1", "Team"), name, namespace="default").obj
        status = found.get("status", {})
        return status.get("phase", ""), status.get("message", "")

    def events(self, name: str) -> set[tuple[str, str]]:
        """Reason and note of each Event on a team."""
        kind = self._kind("events.k8s.io/v1", "Event")
        of = {"apiVersion": "example.com/v1", "kind": "Team", "name": name}
        return {
            (event["reason"], event["note"])
            for event in self.sandbox.store.objects(kind)
            if of.items() <= event["regarding"].items()
        }

    def _kind(self, api_version: str, kind: str) -> Kind:
        found = self.sandbox.store.kinds.by_type(api_version, kind)
        assert found is not None
        return found

    async def page(self, path: str) -> str:
        """A page as it is now."""
        await self.look()
        return await (await self.client.get(path)).text()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until it is so."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition():  # noqa: ASYNC110  # the sandbox has no event for it
                await asyncio.sleep(0.02)


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Running]:
    """A cluster of one node with two cores."""
    sandbox = Sandbox([DEFINITION])
    sandbox.nodes(1, shape=NodeShape(cpu="2"))
    async with sandbox:
        connection = load_connection(sandbox.kubeconfig(folder / "kubeconfig"))
        recording = RecordingOptions(folder / "recording", 1 << 30)
        async with Transport(connection) as transport:
            assembly = replace(assemble(ASSEMBLY), recording=recording)
            process = Process(assembly, transport, Machine(exclusive=False))
            controllers = group_controllers(process)
            application = endpoints(process, assembly.configuration, None)
            ticker = mounted(application, process).ticker
            async with TestClient(TestServer(application)) as client:
                process.start()
                for each in controllers:
                    each.start()
                try:
                    yield Running(sandbox, client, process, ticker.poll)
                finally:
                    for each in controllers:
                        await each.stop()
                    await process.stop()


async def test_a_team_is_written_reported_shown_and_recorded(tmp_path: Path) -> None:
    lacking = "team default/beta: 0 of the 3 that it lacks fit: 0/1 nodes are available: 1 Insufficient cpu."
    async with running(tmp_path) as muster:
        muster.create(team("alpha", 2), team("beta", 3))
        muster.create(*players("alpha", 2))
        await muster.until(lambda: muster.phase("alpha") == ("Playing", "2 of 2 are bound"))
        muster.create(*players("beta", 3))
        await muster.until(lambda: muster.phase("beta") == ("Benched", lacking))
        await muster.until(lambda: muster.events("alpha") == {("Playing", "2 of 2 are bound")})
        assert muster.events("beta") == set()
        queue = await muster.page("/web/")
        assert "/web/team-groups/default/alpha" in queue
        assert '<span class="tag" title="example.com">team</span>' in queue
        assert lacking in await muster.page("/web/team-groups/default/beta")
        assert "muster_waiting_podgroups 1.0" in await muster.page("/metrics")
    replayed = Replay(Recording(tmp_path / "recording"), assemble(ASSEMBLY)).run()
    assert replayed.exact, (replayed.own_way, replayed.broken_off)
    assert replayed.decisions >= 2


async def test_a_team_that_lost_a_player_for_good_starts_anew(tmp_path: Path) -> None:
    async with running(tmp_path) as muster:
        alpha = team("alpha", 2)
        alpha["metadata"]["annotations"] = {"muster-scheduler.io/healing-policy": "Restart"}
        muster.create(alpha, *players("alpha", 2))
        await muster.until(lambda: muster.phase("alpha")[0] == "Playing")
        muster.sandbox.store.delete(PODS, "alpha-0", namespace="default")
        note = "1 of its pods were lost for good: the 1 left are evicted, so that all start anew"
        await muster.until(lambda: ("Restarting", note) in muster.events("alpha"))
        await muster.until(lambda: not [*muster.sandbox.store.objects(PODS)])
