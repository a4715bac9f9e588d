"""Safety of the pages: access, headers of every answer, and texts of a cluster, which never become markup."""

from html import escape
from http import HTTPStatus
from urllib.parse import quote

import pytest
from aiohttp import ClientSession, CookieJar, DummyCookieJar
from playwright.async_api import Browser, expect

from muster.operator.web.stream import MOST_STREAMS
from muster.operator.web.templating import static_files
from tests.builders import make_pod
from tests.web.browser import opened
from tests.web.served import SECRET, Shown, member

pytestmark = pytest.mark.asyncio(loop_scope="session")

_HOSTILE = '</p><script>window.owned = 1</script><img src=x onerror="window.owned = 1">\'"{{ 7 * 7 }}&lt;'


async def test_without_the_key_there_is_no_page(cluster: Shown) -> None:
    async with ClientSession(cookie_jar=DummyCookieJar()) as session:
        for path in ("/", "/nodes", "/changes", "/stream", "/static/live.js", "/?key=other", "/?key=%ff"):
            async with session.get(f"{cluster.url}{path}") as answer:
                assert answer.status == HTTPStatus.FORBIDDEN, path


async def test_the_key_goes_into_a_cookie_and_out_of_the_address(cluster: Shown) -> None:
    async with (
        ClientSession(cookie_jar=DummyCookieJar()) as session,
        session.get(f"{cluster.url}/nodes?key={SECRET}", allow_redirects=False) as answer,
    ):
        assert (answer.status, answer.headers["Location"]) == (HTTPStatus.SEE_OTHER, "/nodes")
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie


@pytest.mark.parametrize("host", ["attacker.example", "127.0.0.1.attacker.example:80", "[", "", "169.254.169.254"])
async def test_another_host_than_this_machine_is_refused(cluster: Shown, host: str) -> None:
    async with ClientSession() as session, session.get(cluster.entrance, headers={"Host": host}) as answer:
        assert answer.status == HTTPStatus.MISDIRECTED_REQUEST


@pytest.mark.parametrize("host", ["localhost:9", "127.0.0.1", "[::1]:8080"])
async def test_a_forwarded_port_of_this_machine_is_served(cluster: Shown, host: str) -> None:
    async with (
        ClientSession() as session,
        session.get(cluster.entrance, headers={"Host": host}, allow_redirects=False) as answer,
    ):
        assert answer.status == HTTPStatus.SEE_OTHER


@pytest.mark.parametrize("path", ["/nowhere", "/pods/default", "/static/none", "/groups/<b>/a/b"])
async def test_an_address_without_a_page_leads_back_to_the_queue(cluster: Shown, path: str) -> None:
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
        await (await session.get(cluster.entrance)).read()
        async with session.get(f"{cluster.url}{quote(path)}") as answer:
            assert answer.status == HTTPStatus.NOT_FOUND
            page = await answer.text()
    assert f"There is no page {escape(path)}." in page
    assert "To the queue" in page


@pytest.mark.parametrize("path", ["/", "/nodes", "/nodes/none", "/nowhere", "/static/muster.css", "/static/none"])
async def test_every_answer_says_what_a_browser_may_do(cluster: Shown, path: str) -> None:
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
        await (await session.get(cluster.entrance)).read()
        async with session.get(f"{cluster.url}{path}") as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'; ")
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            for name, value in (
                ("X-Content-Type-Options", "nosniff"),
                ("Referrer-Policy", "no-referrer"),
                ("Cache-Control", "no-store"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
            ):
                assert answer.headers[name] == value


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_no_page_changes_anything(cluster: Shown, method: str) -> None:
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
        await (await session.get(cluster.entrance)).read()
        for path in ("/", "/nodes", "/pods/default/any", "/stream"):
            async with session.request(method, f"{cluster.url}{path}") as answer:
                assert answer.status == HTTPStatus.METHOD_NOT_ALLOWED


async def test_only_so_many_pages_are_kept_up_to_date_at_once(cluster: Shown) -> None:
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
        await (await session.get(cluster.entrance)).read()
        streams = [await session.get(f"{cluster.url}/stream") for _ in range(MOST_STREAMS)]
        assert {stream.status for stream in streams} == {HTTPStatus.OK}
        async with session.get(f"{cluster.url}/stream") as one_more:
            assert one_more.status == HTTPStatus.SERVICE_UNAVAILABLE
        async with session.get(cluster.url) as page:
            assert page.status == HTTPStatus.OK
        for stream in streams:
            stream.close()


async def test_hostile_texts_of_a_cluster_stay_text(browser: Browser, cluster: Shown) -> None:
    said = {"type": "Scheduled", "status": "False", "reason": _HOSTILE, "message": _HOSTILE}
    cluster.group("waits", needs=2, status={"phase": _HOSTILE, "conditions": [said]})
    cluster.pod(member("waits", 0), message=_HOSTILE)
    cluster.pod(make_pod("alone").requests(cpu="64").gate("example.com/hold"), message=_HOSTILE)
    cluster.pod(make_pod("huge").requests(cpu="64").scheduler(_HOSTILE), message=_HOSTILE)
    await cluster.shows_all()
    asked = quote(_HOSTILE)
    async with opened(browser, cluster.entrance) as watched:
        page = watched.page
        for path in (
            "/",
            "/groups/default/waits",
            "/pods/default/huge",
            "/changes",
            f"/?find={asked}",
            f"/nodes?resource={asked}&label={asked}&in={asked}",
            f"/changes?kind={asked}",
        ):
            await page.goto(f"{cluster.url}{path}")
            await expect(page.get_by_role("status")).to_have_text("Live")
            assert await page.evaluate("document.querySelectorAll('main script, main img').length") == 0
            assert await page.evaluate("window.owned") is None
        await page.goto(f"{cluster.url}/groups/default/waits")
        await expect(page.locator("#condition + p")).to_contain_text(_HOSTILE)
        watched.expect_no_fault()
        name = _HOSTILE.translate(str.maketrans("", "", "/{}"))
        await page.goto(f"{cluster.url}/nodes/{quote(name)}")
        await expect(page.locator("main")).to_contain_text(f"There is no node {name}.")
        assert await page.evaluate("window.owned") is None


async def test_the_files_of_pages_name_no_other_site() -> None:
    for name, (_, body) in static_files().items():
        text = body.decode().replace("http://www.w3.org/2000/svg", "")
        assert "//" not in text.replace("  // ", "").replace("\n// ", "").removeprefix("// "), name
