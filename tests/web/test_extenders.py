"""Pages say what extenders say, and an open page does not keep these busy."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.framework.config import ExtenderConfig
from muster.operator.web.answers import AnswerCache
from tests.builders import make_pod
from tests.controlplane.ports import free_port
from tests.e2e.extender_process import ExtenderProcess
from tests.web.served import member, shown

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def extender(tmp_path: Path) -> Iterator[ExtenderProcess]:
    process = ExtenderProcess(tmp_path)
    yield process
    process.stop()


def configured(url: str) -> ExtenderConfig:
    return ExtenderConfig(url_prefix=url, filter_verb="filter", preempt_verb="preempt", bind_verb="bind")


async def test_pods_and_groups_are_decided_with_extenders_asked_once_for_many_looks(
    extender: ExtenderProcess, tmp_path: Path
) -> None:
    extender.rules(nodes=["node-1"])
    async with shown(tmp_path, nodes=2, extenders=[configured(extender.url)]) as cluster:
        cluster.pod(make_pod("web").requests(cpu="1"))
        cluster.group("gang", needs=5)
        for number in range(5):
            cluster.pod(member("gang", number))
        await cluster.shows_all()
        assert "It can go to node-1." in await cluster.page("/pods/default/web")
        assert "the extender does not like node-2" in await cluster.page("/groups/default/gang")
        before = len(extender.asked("filter"))
        for number in range(3):
            cluster.pod(make_pod(f"other-{number}"))
            await cluster.shows_all()
            assert "the extender does not like node-2" in await cluster.page("/pods/default/web")
            assert "the extender does not like node-2" in await cluster.page("/groups/default/gang")
        assert before == len(extender.asked("filter")) == 6
        assert extender.asked("bind") == []


async def test_a_page_shows_that_an_extender_cannot_be_reached(tmp_path: Path) -> None:
    port = free_port()
    async with shown(tmp_path, nodes=1, extenders=[configured(f"http://127.0.0.1:{port}")]) as cluster:
        cluster.pod(make_pod("web"))
        await cluster.shows_all()
        assert f"dial tcp 127.0.0.1:{port}: connect: connection refused" in await cluster.page("/pods/default/web")


async def test_answers_of_extenders_are_kept_for_half_a_minute() -> None:
    now = 0.0
    answers = AnswerCache(lambda: now, of_extenders=True)
    asked = 0

    async def ask() -> int:
        nonlocal asked
        asked += 1
        return asked

    assert [await answers.get("pod", ask), await answers.get("pod", ask)] == [1, 1]
    now = 29.0
    assert await answers.get("pod", ask) == 1
    now = 31.0
    assert await answers.get("pod", ask) == 2
