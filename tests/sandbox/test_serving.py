"""The server around the API: its address, its watches at the end, and clients that leave."""

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest
import yaml

from muster.sandbox import Sandbox
from muster.sandbox.kinds import CONFIG_MAPS
from tests.api_behaviour.objects import config_map
from tests.controlplane.ports import free_port

_CONFIG_MAPS = "/api/v1/configmaps"


async def test_the_port_can_be_chosen() -> None:
    port = free_port()

    async with Sandbox(port=port) as sandbox:
        assert sandbox.url == f"http://127.0.0.1:{port}"


async def test_a_port_that_is_taken_is_refused(sandbox: Sandbox) -> None:
    taken = Sandbox(port=int(sandbox.url.rpartition(":")[2]))

    with pytest.raises(OSError, match="address already in use"):
        await taken.__aenter__()


async def test_a_kubeconfig_names_the_server(sandbox: Sandbox, tmp_path: Path) -> None:
    config = yaml.safe_load(sandbox.kubeconfig(tmp_path / "config").read_text())

    assert config["current-context"] == "sandbox"
    assert config["clusters"] == [{"name": "sandbox", "cluster": {"server": sandbox.url}}]


async def test_open_watches_end_with_the_sandbox() -> None:
    async with aiohttp.ClientSession() as session:
        async with Sandbox() as sandbox:
            response = await session.get(f"{sandbox.url}{_CONFIG_MAPS}?watch=1")
        rest = await response.read()

    assert rest == b""


async def test_nothing_runs_on_for_a_client_that_has_left(sandbox: Sandbox) -> None:
    before = asyncio.all_tasks()
    async with aiohttp.ClientSession(sandbox.url) as session:
        response = await session.get(f"{_CONFIG_MAPS}?watch=1")
        serving = asyncio.all_tasks() - before
        response.close()

    _, running = await asyncio.wait(serving, timeout=30)
    assert not running


async def test_many_changes_between_two_looks_arrive_in_order(sandbox: Sandbox) -> None:
    names = [f"map-{number:03}" for number in range(200)]
    async with (
        aiohttp.ClientSession(sandbox.url) as session,
        session.get(f"{_CONFIG_MAPS}?watch=1&resourceVersion={sandbox.store.ledger.revision}") as response,
    ):
        for name in names:
            sandbox.store.create(CONFIG_MAPS, config_map(name, {}), namespace="default")
        lines = [json.loads(await response.content.readline()) for _ in names]

    assert [line["object"]["metadata"]["name"] for line in lines] == names


@pytest.mark.parametrize("path", ["/", "/version", "/openapi/v2", "/openapi/v3", "/api", "/apis"])
async def test_the_documents_about_the_server_are_json(sandbox: Sandbox, path: str) -> None:
    async with aiohttp.ClientSession(sandbox.url) as session, session.get(path) as response:
        assert isinstance(await response.json(), dict)
