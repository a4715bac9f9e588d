"""The pages in a real browser: they show the cluster, follow it, and keep to what they promise."""

import time
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from muster.operator.web.cluster_history import ClusterHistory
from muster.operator.web.history_file import HistoryFile, StoredHistory
from muster.operator.web.samples import QueueSample
from tests.builders import make_pod
from tests.web.browser import DESK, PHONE, opened
from tests.web.served import Shown, member, shown

pytestmark = pytest.mark.asyncio(loop_scope="session")

_HEAR_OF_THE_NEXT_CHANGE = """() => {
  const { stream, version } = document.getElementById("main").dataset;
  window.heard = new Promise((heard) => {
    new EventSource(`${stream}?at=${version}`).addEventListener("changed", () => heard(true));
  });
}"""
_FULL = "0/6 nodes are available: 6 Insufficient cpu."


async def fill(cluster: Shown) -> None:
    """A group that has its nodes, one that waits, and a pod that waits alone."""
    cluster.group("runs", needs=2)
    for number in (0, 1):
        cluster.pod(member("runs", number, cpu="3").node(f"node-{number + 1}"))
    cluster.group("waits", needs=7)
    for number in range(7):
        cluster.pod(member("waits", number, cpu="3"), message=_FULL)
    cluster.pod(make_pod("huge").requests(cpu="64"), message=_FULL)
    await cluster.shows_all()


async def row(page: Page, key: str) -> str:
    """The text of a table's row, once it is there."""
    found = page.locator(f"tr[data-key='{key}']")
    await expect(found).to_be_visible()
    return " ".join((await found.inner_text()).split())


async def test_the_queue_shows_who_waits_for_what(browser: Browser, cluster: Shown) -> None:
    await fill(cluster)
    async with opened(browser, cluster.entrance) as watched:
        page = watched.page
        assert (await row(page, "/groups/default/waits")).startswith("1 default/waits 0 of 7 0 ")
        assert (await row(page, "/groups/default/runs")).startswith("default/runs 2 of 2 0 ")
        await expect(page.locator("details.card summary")).to_contain_text(f"1 {_FULL}")
        await page.locator("details.card").get_by_role("link", name="default/huge").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("default/huge")
        watched.expect_no_fault()


async def test_a_group_is_tried_and_its_members_are_shown_with_their_nodes(browser: Browser, cluster: Shown) -> None:
    await fill(cluster)
    async with opened(browser, cluster.entrance) as watched:
        page = watched.page
        await page.locator("tr").get_by_role("link", name="default/waits").click()
        tried = page.locator("section", has=page.get_by_role("heading", name="Tried now"))
        await expect(tried).to_contain_text("pod group default/waits is unschedulable, 4 of the 7 members")
        await expect(tried).to_contain_text("Place 1 of 1 waiting groups.")
        await expect(tried.locator("tbody tr")).to_have_count(2)
        await page.goto(f"{cluster.url}/groups/default/runs")
        assert await row(page, "runs-0") == "runs-0 Pending node-1"
        await expect(page.locator("#members + p")).to_have_text("1 in zone-1, 1 in zone-2")
        watched.expect_no_fault()


async def test_a_pod_is_explained_as_a_tree_of_reasons_and_a_table_of_scores(browser: Browser, cluster: Shown) -> None:
    await fill(cluster)
    async with opened(browser, cluster.entrance) as watched:
        page = watched.page
        await page.goto(f"{cluster.url}/pods/default/waits-0")
        await expect(page.locator("#tree")).to_have_text("Nodes that cannot run it 2 of 6")
        reason = page.locator(".tree summary", has_text="Insufficient cpu")
        await expect(page.get_by_role("link", name="node-1")).to_be_hidden()
        await reason.click()
        await expect(page.get_by_role("link", name="node-1")).to_be_visible()
        await expect(page.locator("tr.chosen")).to_contain_text("best")
        await expect(page.locator("#scores")).to_have_text("Best of the nodes that can 4 of 6")
        watched.expect_no_fault()


async def test_the_map_is_coloured_by_a_resource_and_parted_by_a_label(browser: Browser, cluster: Shown) -> None:
    await fill(cluster)
    async with opened(browser, cluster.entrance) as watched:
        page = watched.page
        await page.get_by_role("link", name="Nodes", exact=True).click()
        await expect(page.locator("figure.plot")).to_have_count(3)
        await expect(page.locator(".plot .b1")).to_have_count(2)
        await expect(page.locator(".plot .b4")).to_have_count(4)
        await page.get_by_label("Free capacity of").select_option("pods")
        await page.get_by_label("by", exact=True).select_option("topology.kubernetes.io/region")
        await page.get_by_role("button", name="Show").click()
        await expect(page.locator("figure.plot")).to_have_count(1)
        await expect(page.locator(".plot .b4")).to_have_count(6)
        await page.locator("figcaption a").click()
        assert await row(page, "node-1") == "node-1 109 110 < 1 % 1 over three quarters free"
        await page.get_by_role("cell", name="node-1").get_by_role("link").click()
        assert (await row(page, "cpu")).startswith("cpu 1 3 4")
        assert (await row(page, "default/runs-0")).startswith("default/runs-0 Pending 3 cpu")
        watched.expect_no_fault()


async def test_a_page_follows_the_cluster_and_leaves_the_reader_in_place(browser: Browser, cluster: Shown) -> None:
    await fill(cluster)
    async with opened(browser, cluster.entrance) as watched:
        page = watched.page
        await expect(page.get_by_role("status")).to_have_text("Live")
        link = page.locator("tr").get_by_role("link", name="default/runs")
        await page.locator("details.card summary").click()
        await link.focus()
        await page.evaluate("window.untouched = true")
        cluster.group("younger", needs=1)
        cluster.pod(member("younger", 0))
        await expect(page.locator(".log li", has_text="default/younger-0")).to_contain_text("waits for a node")
        assert (await row(page, "/groups/default/younger")).startswith("2 default/younger 0 of 1")
        cluster.delete_pod("waits-3")
        await expect(page.locator(".log li", has_text="default/waits-3")).to_contain_text("has ended or was deleted")
        await expect(link).to_be_focused()
        await expect(page.locator("details.card")).not_to_have_attribute("open", "")
        assert await page.evaluate("window.untouched") is True
        await page.get_by_role("link", name="Changes", exact=True).click()
        await expect(page.locator(".log li", has_text="default/younger was created")).to_be_visible()
        watched.expect_no_fault()


async def test_a_page_that_is_paused_stays_as_it_is(browser: Browser, cluster: Shown) -> None:
    async with opened(browser, cluster.entrance) as watched:
        page = watched.page
        await page.clock.install()
        await page.reload()
        await expect(page.get_by_role("status")).to_have_text("Live")
        await page.get_by_role("button", name="Pause").click()
        await expect(page.get_by_role("status")).to_have_text("Paused")
        await page.evaluate(_HEAR_OF_THE_NEXT_CHANGE)
        cluster.group("late", needs=1)
        await page.evaluate("window.heard")
        await page.clock.fast_forward(10_000)
        await page.evaluate("fetch(location.href).then((answer) => answer.text())")
        assert await page.locator("tr[data-key='/groups/default/late']").count() == 0
        await page.get_by_role("button", name="Pause").click()
        await page.clock.fast_forward(10_000)
        await row(page, "/groups/default/late")
        watched.expect_no_fault()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_every_page_fits_its_screen_and_is_without_fault(
    browser: Browser, cluster: Shown, size: tuple[int, int], scheme: str
) -> None:
    await fill(cluster)
    paths = (
        "/",
        "/nodes?in=zone-1",
        "/nodes/node-1",
        "/groups/default/waits",
        "/pods/default/waits-0",
        "/pods/default/huge",
        "/changes",
    )
    async with opened(browser, cluster.entrance, size=size, scheme="dark" if scheme == "dark" else "light") as watched:
        page = watched.page
        too_wide = []
        for path in paths:
            await page.goto(f"{cluster.url}{path}")
            await expect(page.get_by_role("status")).to_have_text("Live")
            if await page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                too_wide.append(path)
        assert too_wide == []
        ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == {"light": "rgb(251, 251, 250)", "dark": "rgb(20, 25, 27)"}[scheme]
        watched.expect_no_fault()


async def test_the_keyboard_alone_reaches_everything(browser: Browser, cluster: Shown) -> None:
    await fill(cluster)
    async with opened(browser, cluster.entrance) as watched:
        page = watched.page
        reached = []
        for _ in range(10):
            await page.keyboard.press("Tab")
            reached.append(await page.evaluate("document.activeElement.innerText || document.activeElement.id"))
        assert reached[:8] == ["Skip to the content", "Muster", "Queue", "Nodes", "Changes", "Moves", "Pause", "find"]
        assert reached[9] == "default/waits"
        outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("default/waits")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()
        await page.goto(f"{cluster.url}/pods/default/waits-0")
        reason = page.locator(".tree summary", has_text="Insufficient cpu")
        await reason.focus()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("link", name="node-1")).to_be_visible()
        watched.expect_no_fault()


async def test_pages_below_a_path_of_another_server_lead_to_one_another(browser: Browser, tmp_path: Path) -> None:
    async with shown(tmp_path, base="/web") as cluster:
        await fill(cluster)
        async with opened(browser, cluster.entrance) as watched:
            page = watched.page
            await expect(page.get_by_role("status")).to_have_text("Live")
            await page.get_by_role("link", name="Nodes", exact=True).click()
            await page.locator("figcaption a").first.click()
            await page.locator("td").get_by_role("link", name="node-1").click()
            await page.get_by_role("link", name="default/runs-0").click()
            await page.get_by_role("link", name="default/runs", exact=True).click()
            await expect(page.get_by_role("heading", level=1)).to_have_text("default/runs")
            await page.get_by_role("link", name="Muster").click()
            await page.get_by_label("Only names with").fill("huge")
            await page.keyboard.press("Enter")
            await expect(page.locator("details.card")).to_have_count(1)
            await expect(page.locator("tr[data-key]")).to_have_count(0)
            await page.get_by_role("link", name="All changes").click()
            await expect(page.get_by_role("heading", level=1)).to_have_text("Changes")
            watched.expect_no_fault()


async def test_a_page_shows_that_it_is_not_connected(browser: Browser, tmp_path: Path) -> None:
    async with AsyncExitStack() as serving:
        cluster = await serving.enter_async_context(shown(tmp_path))
        async with opened(browser, cluster.entrance) as watched:
            status = watched.page.get_by_role("status")
            await expect(status).to_have_text("Live")
            await serving.aclose()
            await expect(status).to_have_text("Not connected")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_the_history_of_a_day_is_drawn_where_one_is_kept(
    browser: Browser, tmp_path: Path, size: tuple[int, int]
) -> None:
    now = time.time()
    samples = [QueueSample(now - ago, pods=ago % 7, longest=ago, used={"cpu": 0.5}) for ago in range(7200, 60, -10)]
    with closing(HistoryFile(tmp_path / "history", "here")) as file:
        history = ClusterHistory(file, StoredHistory(samples))
        async with shown(tmp_path, history=history) as cluster, opened(browser, cluster.entrance, size=size) as watched:
            page = watched.page
            await page.get_by_role("link", name="History").click()
            await expect(page.get_by_role("heading", level=1)).to_have_text("History")
            await expect(page.locator("figure.chart path.line")).to_have_count(5)
            await expect(page.get_by_text("now 50 %, highest 50 %")).to_be_visible()
            assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
            watched.expect_no_fault()
