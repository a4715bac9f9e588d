"""Pictures of the pages for the README: `python -m tests.web.screenshots`, or `make screenshots`.

A cluster of six racks is filled by a `muster run`, with running gangs, a gang that waits for capacity, one that waits
for its members, and waiting single pods; then each page is drawn into `docs/images`.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from pathlib import Path

from playwright.async_api import Page, expect

from muster.sandbox import NodeShape
from tests.builders import PodDict, make_pod
from tests.e2e.muster_process import MusterProcess, Options
from tests.web.browser import PHONE, chromium, opened
from tests.web.served import GROUP_LABEL, Shown, shown

FOLDER = Path(__file__).parents[2] / "docs" / "images"
RACK = "topology.kubernetes.io/rack"
GPU = "nvidia.com/gpu"
_RACKS = 6
_NODES_OF_A_RACK = 16
_WORKERS = 170
_SIZE = (1100, 760)
_PATIENCE_MILLISECONDS = 60_000


def fill(cluster: Shown) -> None:
    """Racks of nodes with GPUs, and work for them."""
    for rack in range(_RACKS):
        labels = {RACK: f"rack-{rack + 1}", "topology.kubernetes.io/zone": f"zone-{rack // 2 + 1}"}
        shape = NodeShape(cpu="32", memory="128Gi", extended={GPU: "8"}, labels=labels)
        cluster.sandbox.nodes(_NODES_OF_A_RACK, shape=shape, prefix=f"r{rack + 1}")
    chosen = random.Random(7)
    for number in range(_WORKERS):
        gpus = chosen.choice((0, 0, 0, 2, 4, 4, 8))
        requests = {"cpu": str(chosen.choice((2, 4, 6, 12, 16))), "memory": "8Gi", **({GPU: str(gpus)} if gpus else {})}
        cluster.pod(make_pod(f"worker-{number}", namespace="batch").requests(requests))


def wait(cluster: Shown) -> None:
    """Gangs of every kind, and pods that no node can run."""
    gang(cluster, "bert", members=6, needs=6, cpu="4", gpus="1")
    gang(cluster, "solver", members=12, needs=12, cpu="3", gpus="0", namespace="hpc")
    gang(cluster, "llama", members=24, needs=24, cpu="16", gpus="8")
    gang(cluster, "nightly", members=3, needs=5, cpu="2", gpus="0", namespace="etl")
    for number in range(3):
        cluster.pod(make_pod(f"cache-{number}", namespace="shop").requests(cpu="4", memory="400Gi"))
    cluster.pod(make_pod("report", namespace="shop").requests(cpu="1").gate("example.com/approval"))


def gang(
    cluster: Shown,
    name: str,
    *,
    members: int,
    needs: int,
    cpu: str,
    gpus: str,
    namespace: str = "ml",
) -> None:
    """A PodGroup with so many members."""
    cluster.group(name, needs=needs, namespace=namespace)
    for number in range(members):
        requests = {"cpu": cpu, **({GPU: gpus} if gpus != "0" else {})}
        pod: PodDict = make_pod(f"{name}-{number:02}", namespace=namespace).labels({GROUP_LABEL: name})
        cluster.pod(pod.requests(requests))


async def main() -> None:
    """Draw them all."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with shown(Path(folder), nodes=0, every=0.5, stand_ins=True) as cluster, chromium() as browser:
            fill(cluster)
            options = Options(kubeconfig=Path(folder, "kubeconfig"), log=Path(folder, "log"))
            scheduler = await asyncio.to_thread(MusterProcess, options)
            try:
                async with opened(browser, cluster.entrance, size=_SIZE) as watched:
                    placed = watched.page.locator(".counts div", has_text="pods placed").locator("dd")
                    await expect(placed).to_have_text(str(_WORKERS), timeout=_PATIENCE_MILLISECONDS)
                    cluster.cordon("r2-05")
                    wait(cluster)
                    await draw(watched.page, cluster)
                async with opened(browser, cluster.entrance, size=PHONE, scheme="dark") as watched:
                    await watched.page.screenshot(path=FOLDER / "web-phone.png")
            finally:
                await asyncio.to_thread(scheduler.stop)


async def draw(page: Page, cluster: Shown) -> None:
    """A picture of each page, when all is said that it has to show."""
    llama = page.locator("tr", has_text="ml/llama")
    await expect(llama).to_contain_text("Unschedulable", timeout=_PATIENCE_MILLISECONDS)
    pages = {
        "queue": "/",
        "nodes": f"/nodes?resource={GPU}&label={RACK}&in=rack-2",
        "group": "/groups/ml/llama",
        "pod": "/pods/ml/bert-00",
        "changes": "/changes",
    }
    for name, path in pages.items():
        await page.goto(f"{cluster.url}{path}")
        await expect(page.get_by_role("status")).to_have_text("Live")
        await page.screenshot(path=FOLDER / f"web-{name}.png")


if __name__ == "__main__":
    asyncio.run(main())
