"""The story: what Muster does with plain pods, with a gang that fits, and with one that waits for capacity.

A last gang, for which no node is large enough, is left waiting for the user to explain.

Every statement is checked against the cluster before it is printed; if it is not true, the story ends with StoryError.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console

from muster.operator.simulate.wording import counted

from .cluster import DemoCluster, StoryError

_PLAIN = [f"web-{number}" for number in range(20)]
_GANG = [f"train-{number}" for number in range(8)]
_GANG_SIZE = len(_GANG)
WAITING = "oversized"
"""The group that still waits after the story."""


async def play(cluster: DemoCluster, console: Console, *, node_cpus: int, nodes: int) -> None:
    """Play the story on a cluster of `nodes` empty nodes with `node_cpus` cores each.

    Raises StoryError at the first step that does not happen.
    """
    await _plain_pods(cluster, console)
    await _gang_that_fits(cluster, console)
    fillers = await _fill(cluster, console, node_cpus=node_cpus, nodes=nodes)
    big = await _gang_that_does_not_fit(cluster, console, node_cpus=node_cpus)
    await _capacity_comes_free(cluster, console, fillers, big)
    await _gang_that_never_fits(cluster, console, node_cpus=node_cpus)


async def _plain_pods(cluster: DemoCluster, console: Console) -> None:
    console.rule("1. Plain pods")
    console.print(f"{len(_PLAIN)} pods with [bold]schedulerName: muster[/bold] …")
    began = time.monotonic()
    await cluster.create_pods(_PLAIN, cpu="500m")
    _show(console, await cluster.wait_bound(_PLAIN), began)


async def _gang_that_fits(cluster: DemoCluster, console: Console) -> None:
    console.rule("2. A gang")
    console.print(f"PodGroup [bold]train[/bold] needs {_GANG_SIZE} pods. The first {_GANG_SIZE - 1} come …")
    await cluster.create_group("train", min_member=_GANG_SIZE)
    await cluster.create_pods(_GANG[:-1], cpu="2", group="train")
    console.print(f"  [yellow]{await cluster.wait_reason(_GANG[0])}[/yellow]")
    await _expect_none_bound(cluster, _GANG[:-1])
    console.print(f"… and the last of the {_GANG_SIZE}:")
    began = time.monotonic()
    await cluster.create_pods(_GANG[-1:], cpu="2", group="train")
    _show(console, await cluster.wait_bound(_GANG), began)


async def _fill(cluster: DemoCluster, console: Console, *, node_cpus: int, nodes: int) -> list[str]:
    """Create pods so that no node has all of its cores free."""
    console.rule("3. A gang that does not fit")
    fillers = [f"batch-{number}" for number in range(nodes)]
    console.print(f"{nodes} batch pods take most of the cluster …")
    began = time.monotonic()
    await cluster.create_pods(fillers, cpu=f"{node_cpus - 2}")
    _show(console, await cluster.wait_bound(fillers), began)
    return fillers


async def _gang_that_does_not_fit(cluster: DemoCluster, console: Console, *, node_cpus: int) -> list[str]:
    big = [f"big-{number}" for number in range(_GANG_SIZE)]
    console.print(f"PodGroup [bold]big[/bold] needs {_GANG_SIZE} pods of {node_cpus} cores each, whole nodes:")
    await cluster.create_group("big", min_member=_GANG_SIZE)
    await cluster.create_pods(big, cpu=f"{node_cpus}", group="big")
    console.print(f"  [yellow]{await cluster.wait_reason(big[0])}[/yellow]")
    await _expect_none_bound(cluster, big)
    console.print("None of them takes capacity, so a small pod behind them starts at once:")
    began = time.monotonic()
    await cluster.create_pods(["small"], cpu="1")
    _show(console, await cluster.wait_bound(["small"]), began)
    return big


async def _capacity_comes_free(
    cluster: DemoCluster, console: Console, fillers: Sequence[str], big: Sequence[str]
) -> None:
    console.rule("4. Capacity comes free")
    console.print("The batch pods end …")
    began = time.monotonic()
    await cluster.delete_pods(fillers)
    _show(console, await cluster.wait_bound(big), began)


async def _gang_that_never_fits(cluster: DemoCluster, console: Console, *, node_cpus: int) -> None:
    members = [f"{WAITING}-{number}" for number in range(2)]
    needed = node_cpus + 2
    console.rule("5. A gang for which no node is large enough")
    console.print(f"PodGroup [bold]{WAITING}[/bold] needs {len(members)} pods of {needed} cores each:")
    await cluster.create_group(WAITING, min_member=len(members))
    await cluster.create_pods(members, cpu=f"{needed}", group=WAITING)
    console.print(f"  [yellow]{await cluster.wait_reason(members[0])}[/yellow]")
    await _expect_none_bound(cluster, members)


async def _expect_none_bound(cluster: DemoCluster, names: Sequence[str]) -> None:
    bound = [name for name, node in (await cluster.nodes_of(names)).items() if node]
    if bound:
        raise StoryError(f"pods {', '.join(bound)} were bound without their gang")


def _show(console: Console, nodes: Mapping[str, str], began: float) -> None:
    used = Counter(nodes.values())
    seconds = time.monotonic() - began
    console.print(f"  [green]{len(nodes)} bound[/green] on {counted(len(used), 'node')} in {seconds:.2f}s")
