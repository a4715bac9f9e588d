"""How long the pages take to draw: `python -m bench.pages [--nodes N] [--groups N] [--pods N]`.

The cluster is a sandbox that `muster web` follows; the browser, the pages and the cluster share the machine. `server`
is from the request to the last byte, as the browser sees it; `drawn` until the browser has drawn what it got; `CPU`
what pages and cluster took of a core for it, which tells more on a machine that others use too.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import dataclass
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
    """One drawing of a page: seconds, and bytes that were transferred."""

    server: float
    drawn: float
    cpu: float
    size: float


@click.command()
@click.option("--nodes", default=5000, show_default=True)
@click.option("--groups", default=500, show_default=True, help="Half of them have their nodes.")
@click.option("--pods", default=10_000, show_default=True, help="Further pods, which have theirs.")
def main(nodes: int, groups: int, pods: int) -> None:
    """Draw each page a few times and print the medians."""
    asyncio.run(_measure(nodes, groups, pods))


async def _measure(nodes: int, groups: int, pods: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with (
            shown(Path(folder), nodes=nodes, shape=NodeShape(cpu="16"), every=1.0) as cluster,
            chromium() as browser,
        ):
            placed = _fill(cluster, nodes, groups, pods)
            async with opened(browser, cluster.entrance) as watched:
                told = watched.page.locator(".counts div", has_text="pods placed").locator("dd")
                await expect(told).to_have_text(str(placed), timeout=_FOLLOWED_MILLISECONDS)
            rows = [await _row(browser, cluster, path) for path in _paths()]
    click.echo(f"{nodes:,} nodes, {groups:,} groups of {_MEMBERS}, {pods:,} further pods; median of {_ROUNDS}\n")
    for line in lines(("PAGE", "KIB", "SERVER s", "DRAWN s", "CPU s", "WORST s"), rows):
        click.echo(line)


def _paths() -> tuple[str, ...]:
    return "/", "/nodes", "/nodes?in=zone-1", "/changes", "/groups/default/waits-0", f"/pods/{_PLACED}"


def _fill(cluster: Shown, nodes: int, groups: int, pods: int) -> int:
    """How many pods have nodes then."""
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


async def _row(browser: Browser, cluster: Shown, path: str) -> tuple[str, ...]:
    async with opened(browser, f"{cluster.entrance}") as watched:
        await _draw(watched.page, f"{cluster.url}{path}")
        found = [await _draw(watched.page, f"{cluster.url}{path}") for _ in range(_ROUNDS)]
    return (
        path,
        f"{found[0].size / 1024:.0f}",
        f"{median(each.server for each in found):.2f}",
        f"{median(each.drawn for each in found):.2f}",
        f"{median(each.cpu for each in found):.2f}",
        f"{max(each.drawn for each in found):.2f}",
    )


async def _draw(page: Page, url: str) -> Drawn:
    before = time.process_time()
    await page.goto(url)
    server, drawn, size = await page.evaluate(_WHEN_DRAWN)
    return Drawn(server / 1000, drawn / 1000, time.process_time() - before, size)


if __name__ == "__main__":
    main()
