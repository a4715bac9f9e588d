"""The time to draw web pages: `python -m bench.pages [--nodes N] [--groups N] [--pods N] [-o json]`.

The cluster is a sandbox that `muster web` follows; the browser, the pages and the cluster share the machine. `server`
is the time from the request to the last byte, as the browser sees it; `drawn` until the browser has drawn the page;
`CPU` the core time of pages and cluster, which is more reliable on a machine with other load.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import click
from playwright.async_api import Browser, Page, expect

from muster.operator.explain.layout import lines
from muster.sandbox import NodeShape
from tests.builders import make_pod
from tests.web.browser import chromium, opened
from tests.web.served import Shown, member, shown

_ROUNDS = 5
_MEMBERS = 8
_FOLLOWED_MILLISECONDS = 120_000
_WHEN_DRAWN = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
  const at = performance.getEntriesByType("navigation")[0];
  done([at.responseEnd - at.requestStart, performance.now() - at.requestStart, at.transferSize]);
})))"""
_PLACED = "default/placed-0"


@dataclass(frozen=True, slots=True)
class Drawn:
    """One drawing of a page: its seconds and the transferred bytes."""

    server: float
    drawn: float
    cpu: float
    size: float


@dataclass(frozen=True, slots=True)
class Found:
    """The result of the drawings of a page.

    Attributes:
        path: the path of the page.
        bytes: the transferred bytes.
        server, drawn, cpu: medians, in seconds.
        worst: the longest time until the browser had drawn it, in seconds.
    """

    path: str
    bytes: float
    server: float
    drawn: float
    cpu: float
    worst: float

    @classmethod
    def of(cls, path: str, drawings: Sequence[Drawn]) -> Found:
        """Summarize one or more drawings."""
        return cls(
            path=path,
            bytes=drawings[0].size,
            server=median(each.server for each in drawings),
            drawn=median(each.drawn for each in drawings),
            cpu=median(each.cpu for each in drawings),
            worst=max(each.drawn for each in drawings),
        )

    def row(self) -> tuple[str, ...]:
        """The cells of its row in the table."""
        seconds = (f"{each:.2f}" for each in (self.server, self.drawn, self.cpu, self.worst))
        return self.path, f"{self.bytes / 1024:.0f}", *seconds


@click.command()
@click.option("--nodes", default=5000, show_default=True)
@click.option("--groups", default=500, show_default=True, help="Half of them have their nodes.")
@click.option("--pods", default=10_000, show_default=True, help="Further pods, which have theirs.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, groups: int, pods: int, output: str) -> None:
    """Draw each page a few times and print the medians."""
    found = asyncio.run(_measure(nodes, groups, pods))
    if output == "json":
        size = {"nodes": nodes, "groups": groups, "members": _MEMBERS, "pods": pods}
        click.echo(json.dumps({**size, "pages": [asdict(each) for each in found]}, indent=2))
        return
    click.echo(f"{nodes:,} nodes, {groups:,} groups of {_MEMBERS}, {pods:,} further pods; median of {_ROUNDS}\n")
    for line in lines(("PAGE", "KIB", "SERVER s", "DRAWN s", "CPU s", "WORST s"), [each.row() for each in found]):
        click.echo(line)


async def _measure(nodes: int, groups: int, pods: int) -> list[Found]:
    with tempfile.TemporaryDirectory() as folder:
        async with (
            shown(Path(folder), nodes=nodes, shape=NodeShape(cpu="16"), every=1.0) as cluster,
            chromium() as browser,
        ):
            placed = _fill(cluster, nodes, groups, pods)
            async with opened(browser, cluster.entrance) as watched:
                told = watched.page.locator(".counts div", has_text="pods placed").locator("dd")
                await expect(told).to_have_text(str(placed), timeout=_FOLLOWED_MILLISECONDS)
            return [await _draw_often(browser, cluster, path) for path in _paths()]


def _paths() -> tuple[str, ...]:
    return "/", "/nodes", "/nodes?in=zone-1", "/changes", "/groups/default/waits-0", f"/pods/{_PLACED}"


def _fill(cluster: Shown, nodes: int, groups: int, pods: int) -> int:
    """Fill the cluster; returns the number of pods with nodes."""
    width = len(str(nodes))
    names = [f"node-{number + 1:0{width}}" for number in range(nodes)]
    for number in range(groups):
        waits = number % 2 == 0
        name = f"{'waits' if waits else 'runs'}-{number}"
        cluster.group(name, needs=_MEMBERS)
        for each in range(_MEMBERS):
            pod = member(name, each, cpu="20" if waits else "2")
            message = f"0/{nodes} nodes are available: {nodes} Insufficient cpu." if waits else ""
            cluster.pod(pod if waits else pod.node(names[(number * _MEMBERS + each) % nodes]), message=message)
    for number in range(pods):
        cpu = str(1 + number * 7 % 6)
        cluster.pod(make_pod(f"placed-{number}").requests(cpu=cpu).node(names[number * 13 % nodes]))
    return pods + groups // 2 * _MEMBERS


async def _draw_often(browser: Browser, cluster: Shown, path: str) -> Found:
    async with opened(browser, f"{cluster.entrance}") as watched:
        await _draw(watched.page, f"{cluster.url}{path}")
        return Found.of(path, [await _draw(watched.page, f"{cluster.url}{path}") for _ in range(_ROUNDS)])


async def _draw(page: Page, url: str) -> Drawn:
    before = time.process_time()
    await page.goto(url)
    server, drawn, size = await page.evaluate(_WHEN_DRAWN)
    return Drawn(server / 1000, drawn / 1000, time.process_time() - before, size)


if __name__ == "__main__":
    main()
