"""The page of moves, in a browser and as the view that it is drawn from."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from muster.operator.defrag.proposal import DefragReport, Unhelped
from muster.operator.defrag.question import DefragQuestion
from muster.operator.web.cluster import Unavailable
from muster.operator.web.views.moves import moves_page
from muster.sandbox import NodeShape
from tests.builders import make_pod
from tests.web.browser import opened
from tests.web.served import Shown, member, shown

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def fill(cluster: Shown) -> None:
    """Two nodes of four cores with a pod each, of which one keeps a group from its node."""
    cluster.pod(make_pod("a").requests(cpu="1").node("node-1").owned_by("ReplicaSet", "web"))
    cluster.pod(make_pod("b").requests(cpu="2").node("node-2"))
    cluster.group("waits", needs=1)
    cluster.pod(member("waits", 0, cpu="4"))
    await cluster.shows_all()


async def test_the_page_shows_which_pods_would_move_and_the_command_that_moves_them(
    browser: Browser, tmp_path: Path
) -> None:
    async with shown(tmp_path, nodes=2, shape=NodeShape(cpu="4")) as cluster:
        await fill(cluster)
        async with opened(browser, cluster.entrance) as watched:
            page = watched.page
            await page.goto(f"{cluster.url}/groups/default/waits")
            await page.get_by_role("link", name="Which pods would have to move for it?").click()
            await expect(page.get_by_role("heading", level=1)).to_have_text("Moves for default/waits")
            row = page.locator("tr[data-key='default/a']")
            await expect(row).to_contain_text("node-1")
            await expect(row).to_contain_text("ReplicaSet web")
            await expect(page.locator("main")).to_contain_text("If this pod moved, group default/waits would start.")
            await expect(page.locator("code")).to_have_text("muster defrag --group default/waits --apply")
            await page.get_by_label("Free").select_option("nodes")
            await page.get_by_role("button", name="Show").click()
            await expect(page.locator("main")).to_contain_text("node node-1 would be free.")
            watched.expect_no_fault()


async def test_the_page_is_in_the_navigation_of_muster_web(browser: Browser, cluster: Shown) -> None:
    async with opened(browser, cluster.entrance) as watched:
        await watched.page.get_by_role("link", name="Moves", exact=True).click()
        await expect(watched.page.locator("main")).to_contain_text("Nothing waits that moves could help.")
        watched.expect_no_fault()


async def test_without_moves_the_page_says_why() -> None:
    report = DefragReport(None, [Unhelped("default/big", "it is too large")])
    page = moves_page(DefragQuestion(start="default/big"), report, ["rack"])
    assert (page.title, page.sentences) == ("Moves for default/big", ["No moves are proposed."])
    assert (page.unhelped, page.hidden, page.command) == ([("default/big", "it is too large")], 0, "")
    assert [value for value, _ in page.choices] == ["", "nodes", "rack"]


async def test_a_cluster_that_cannot_be_read_is_said_to_be_so() -> None:
    page = moves_page(DefragQuestion(free="rack"), Unavailable("pods cannot be read"), [])
    assert (page.title, page.sentences) == ("Moves that free a domain of rack", ["pods cannot be read"])


async def test_a_long_list_of_what_moves_do_not_help_is_cut() -> None:
    found = [Unhelped(f"node-{at}", "full") for at in range(203)]
    page = moves_page(DefragQuestion(free="nodes"), DefragReport(None, found), [])
    assert (len(page.unhelped), page.hidden) == (200, 3)
