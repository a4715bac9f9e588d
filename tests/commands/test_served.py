"""`muster why` for those who may see their pods and not the cluster: the leader answers."""

import asyncio
from pathlib import Path
from threading import Event, Thread

import pytest
import yaml
from aiohttp import web
from click.testing import CliRunner, Result

from muster.framework.queue.contents import QueuePosition
from muster.operator.cli import main
from muster.operator.explain.served import ServedDecision, render_served

_STATUS = {"kind": "Status", "message": 'pods "web" is forbidden: no', "reason": "Forbidden", "code": 403}
_DECISION = {
    "pod": "shop/web",
    "uid": "u",
    "node": "",
    "code": "Unschedulable",
    "plugin": "NodeResourcesFit",
    "wall": 0.0,
}


_STANDING = {
    "place": "unschedulable",
    "waited_seconds": 90.0,
    "attempts": 2,
    "ahead": 4,
    "next_try_seconds": 120.0,
    "waits_for": ["NodeResourcesFit"],
}


class Servers:
    """An API server that forbids everything, and replicas of Muster behind one address, of which the third leads."""

    def __init__(self) -> None:
        self.ready, self.over = Event(), Event()
        self.port = 0
        self.asked = 0

    async def serve(self) -> None:
        app = web.Application()
        app.router.add_get("/namespaces/shop/pods/web/why", self._why)
        app.router.add_get("/{path:.*}", self._forbidden)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        self.ready.set()
        await asyncio.to_thread(self.over.wait)
        await runner.cleanup()

    async def _why(self, request: web.Request) -> web.Response:
        self.asked += 1
        if self.asked < 3:
            return web.json_response({"message": "this replica does not lead, ask again"}, status=503)
        return web.json_response(
            {**_DECISION, "message": "0/3 nodes are available: 3 Insufficient cpu.", "queue": _STANDING}
        )

    async def _forbidden(self, request: web.Request) -> web.Response:
        return web.json_response(_STATUS, status=403)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    return tmp_path / "config"


def ask(kubeconfig: Path, port: int, *words: str) -> Result:
    document = {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}],
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {}}],
    }
    kubeconfig.write_text(yaml.safe_dump(document))
    return CliRunner().invoke(main, ["why", "pod", "web", "--kubeconfig", str(kubeconfig), *words])


def test_the_leader_is_asked_where_the_cluster_may_not_be_read(kubeconfig: Path) -> None:
    servers = Servers()
    thread = Thread(target=lambda: asyncio.run(servers.serve()))
    thread.start()
    assert servers.ready.wait(30)
    try:
        without = ask(kubeconfig, servers.port)
        shown = ask(kubeconfig, servers.port, "--muster-url", f"http://127.0.0.1:{servers.port}")
    finally:
        servers.over.set()
        thread.join()
    assert (without.exit_code, without.output) == (
        1,
        'Error: pods "web" is forbidden: no; with --muster-url the leader is asked\n',
    )
    first, *rest = shown.output.splitlines()
    assert first.startswith("shop/web (not on a node), decided by the leader ")
    assert rest == [
        "0/3 nodes are available: 3 Insufficient cpu.",
        "It has waited for 90s and was tried 2 times.",
        "4 pods and groups are ahead of it in the queue.",
        "It is tried again within 2m, or when something happens that NodeResourcesFit waits for.",
    ]
    assert servers.asked == 3


@pytest.mark.parametrize(
    ("ahead", "plugins", "sentences"),
    [
        (
            1,
            ("NodeAffinity", "NodePorts"),
            [
                "1 pod or group is ahead of it in the queue.",
                "It is tried again within 2m, or when something happens that NodeAffinity or NodePorts waits for.",
            ],
        ),
        (0, (), ["It is first in the queue.", "It is tried again within 2m."]),
    ],
)
def test_the_queue_is_described_in_whole_sentences(ahead: int, plugins: tuple[str, ...], sentences: list[str]) -> None:
    queue = QueuePosition("backoff", 90.0, 2, ahead=ahead, next_try_seconds=120.0, waits_for=plugins)
    decision = ServedDecision("shop/web", "", "", "", "", wall=0.0, queue=queue)
    assert [*render_served(decision, now=0.0)][2:] == sentences
