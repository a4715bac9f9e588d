"""Replays every known attack on a real API server: `python -m bench.attack [--nodes N] [--only WORD] [-o json]`.

During each attack, another user's pods are created and the pages are read. For each attack it prints:

- the longest turn of the event loop (the upper bound of the histogram's bucket);
- the longest answer time of `/livez`;
- the longest time until another user's pod was bound;
- the resident memory before, at its highest, and after everything is deleted;
- whether the process still leads, with the same lease.

It fails if a figure exceeds its bound (`bench.attack_effects`): the loop is blocked, `/livez` or a pod is
late, memory has grown since before the first attack, or the lease is lost.
"""

import asyncio
import json
import re
import ssl
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import aiohttp
import click
import msgspec
import uvloop
import yaml
from rich.console import Console
from rich.table import Table

from bench import cluster, scale
from bench.attack_effects import MIB, AttackEffects, longest_block, verdicts
from bench.attacks import ATTACKS
from bench.client import Client
from bench.failures import reporting_failures
from bench.gangs import CRD
from bench.progress import Display
from bench.rogues import configuration, install_packages
from bench.sides import Side, grant_pod_groups
from bench.target import NAMESPACE, Attack, Target
from bench.trial import control_plane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.ports import free_port

_PORT = free_port()
_LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/muster"
_WARM_UP = 30
_PROBE_SECONDS = 0.02
_BEFORE_SECONDS, _DURING_SECONDS, _AFTER_SECONDS = 1.0, 6.0, 4.0
_BUCKET = re.compile(r'^muster_event_loop_blocked_seconds_bucket\{le="([^"]+)"\} ([0-9.e+]+)$', re.MULTILINE)


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1), default=5000, help="Nodes in the cluster.")
@click.option("--only", default="", help="Replay the attacks alone whose names have this in them.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, only: str, output: str) -> None:
    """Attack Muster in every known way, and print the effects on other users."""
    attacks = [attack for attack in ATTACKS if only in attack.name]
    with reporting_failures() as bars, control_plane(_MUSTER, bars) as plane:
        plane.kubectl("apply", f"--filename={CRD}")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            effects = runner.run(_replay(attacks, nodes, plane, bars))
    found = verdicts([(each, attack.bounds) for each, attack in zip(effects, attacks, strict=True)])
    if output == "json":
        print(json.dumps(document(nodes, effects, found), indent=2))
    else:
        _print_table(effects, found)
    sys.exit(any(found))


def document(nodes: int, effects: Sequence[AttackEffects], found: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The effects of each attack on a cluster of `nodes` nodes, and the exceeded bounds, as JSON."""
    return {
        "nodes": nodes,
        "attacks": [
            {**asdict(each), "bound": max(each.bound, default=None), "faults": [*faults]}
            for each, faults in zip(effects, found, strict=True)
        ],
    }


def _print_table(effects: Sequence[AttackEffects], found: Sequence[Sequence[str]]) -> None:
    table = Table("Attack", "Loop blocked", "/livez", "Others bound within", "RSS before, highest, after", "Faults")
    for each, faults in zip(effects, found, strict=True):
        memory = ", ".join(f"{size / MIB:.0f}" for size in (each.before, each.highest, each.after))
        within = f"{max(each.bound, default=0.0):.3f} s" + (f", {each.unbound} not" if each.unbound else "")
        table.add_row(
            each.name,
            f"< {each.held * 1000:.0f} ms",
            f"{each.livez * 1000:.0f} ms",
            within,
            f"{memory} MiB",
            "; ".join(faults) or "none",
        )
    Console(width=160).print(table)


def _command(plane: ControlPlane) -> list[str]:
    grant_pod_groups(plane)
    config = plane.files.folder / "muster.yaml"
    config.write_text(configuration(leader_election=True))
    packages = _packages(plane)
    packages.mkdir(exist_ok=True)
    install_packages(packages)
    return [
        "env",
        f"PYTHONPATH={packages}",
        str(Path(sys.executable).with_name("muster")),
        "run",
        f"--kubeconfig={plane.kubeconfig('admin')}",
        f"--config={config}",
        "--bind-address=127.0.0.1",
        f"--secure-port={_PORT}",
    ]


def _packages(plane: ControlPlane) -> Path:
    return plane.files.folder / "packages"


_MUSTER = Side("muster", _command)


async def _replay(attacks: list[Attack], nodes: int, plane: ControlPlane, display: Display) -> list[AttackEffects]:
    async with Client(plane.kubeconfig()) as client, _pages(plane) as pages:
        await cluster.create_namespace(client)
        await client.post("/api/v1/namespaces", msgspec.json.encode({"metadata": {"name": NAMESPACE}}))
        with display.phase("nodes", nodes) as advance:
            await cluster.create(client, scale.nodes(nodes), advance)
        with _MUSTER.running(plane) as server:
            await _until_ready(pages)
            others = Others(client)
            for number in range(_WARM_UP):
                await others.one(f"warm-{number}")
            target = Target(client, _PORT, plane.kubeconfig(), _packages(plane))
            found = []
            for number, attack in enumerate(attacks):
                with display.phase(attack.name):
                    found.append(await _measure_effects(attack, target, pages, server.pid, number))
            return found


async def _measure_effects(
    attack: Attack, target: Target, pages: aiohttp.ClientSession, pid: int, number: int
) -> AttackEffects:
    effects = AttackEffects(attack.name)
    await asyncio.sleep(_BEFORE_SECONDS)
    holder = (await target.client.get(_LEASE))["spec"]["holderIdentity"]
    buckets = await _held(pages)
    effects.before = effects.highest = _resident(pid)
    others = Others(target.client)
    tasks = [
        asyncio.create_task(_probe(pages, effects, pid)),
        asyncio.create_task(others.go_on(f"other-{number}", effects)),
    ]
    try:
        async with attack.begin(target):
            await asyncio.sleep(_DURING_SECONDS)
            if attack.look is not None:
                effects.seen = await attack.look(target)
        await asyncio.sleep(_AFTER_SECONDS)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    after = await _held(pages)
    effects.held = longest_block(buckets, after)
    effects.after = _resident(pid)
    lease = (await target.client.get(_LEASE))["spec"]
    effects.lease_kept = lease["holderIdentity"] == holder
    return effects


class Others:
    """The pods of other users, one at a time: created, bound, deleted."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def go_on(self, name: str, effects: AttackEffects) -> None:
        """Create one pod after another until cancelled."""
        number = 0
        while True:
            number += 1
            took = await self.one(f"{name}-{number}")
            if took is None:
                effects.unbound += 1
            else:
                effects.bound.append(took)
            await asyncio.sleep(0.1)

    async def one(self, name: str) -> float | None:
        """The seconds from a pod's creation to its binding; None if it takes more than ten seconds."""
        path, body = scale.pod(name)
        began = time.monotonic()
        await self._client.post(path, body)
        try:
            while time.monotonic() - began < 10:
                if (await self._client.get(f"{path}/{name}"))["spec"].get("nodeName"):
                    return time.monotonic() - began
                await asyncio.sleep(0.01)
            return None
        finally:
            await self._client.delete(f"{path}/{name}")


async def _probe(pages: aiohttp.ClientSession, effects: AttackEffects, pid: int) -> None:
    """Read `/livez` until cancelled; retry if a connection is cut, which clients of the same address may cause."""
    began = time.monotonic()
    try:
        while True:
            with suppress(aiohttp.ClientError):
                async with pages.get("/livez") as answer:
                    await answer.read()
                effects.livez = max(effects.livez, time.monotonic() - began)
                began = time.monotonic() + _PROBE_SECONDS
            effects.highest = max(effects.highest, _resident(pid))
            await asyncio.sleep(_PROBE_SECONDS)
    finally:
        effects.livez = max(effects.livez, time.monotonic() - began)


async def _held(pages: aiohttp.ClientSession) -> dict[float, float]:
    """The number of blocks of the loop in each bucket of the histogram, by the bucket's upper bound."""
    async with pages.get("/metrics") as answer:
        sums = [(float(bound), float(count)) for bound, count in _BUCKET.findall(await answer.text())]
    return {bound: count - before for (bound, count), (_, before) in zip(sums, [(0.0, 0.0), *sums], strict=False)}


async def _until_ready(pages: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(120):
        while True:
            try:
                async with pages.get("/readyz") as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.2)


@asynccontextmanager
async def _pages(plane: ControlPlane) -> AsyncIterator[aiohttp.ClientSession]:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    user: dict[str, Any] = yaml.safe_load(plane.kubeconfig().read_text())["users"][0]["user"]
    async with aiohttp.ClientSession(
        f"https://127.0.0.1:{_PORT}",
        connector=aiohttp.TCPConnector(ssl=trusting, force_close=True),
        headers={"Authorization": f"Bearer {user['token']}"},
    ) as session:
        yield session


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


if __name__ == "__main__":
    main()
