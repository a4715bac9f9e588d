"""A kind is listed again when a replica is elected; one that the API does not serve is not waited for."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from muster.operator.kube.client import ApiClient
from muster.operator.kube.informer import Informer, Listed, Timing
from muster.operator.process.informers import KindInformer
from tests.kube.conftest import HOLD
from tests.kube.fake_api import Answer, FakeApi, Json, status_answer
from tests.kube.things import PATH, Journal, Thing, page, thing

NOT_SERVED = status_answer(404, "NotFound", "the server could not find the requested resource")
OLD, NEW = Json(page([thing("a")], 10)), Json(page([thing("b", 15)], 20))


async def test_a_kind_that_the_cluster_does_not_serve_is_no_failed_request_in_the_log(
    client: ApiClient, fake: FakeApi, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "muster.operator.kube.informer")
    fake.on("GET", PATH, NOT_SERVED)
    informer = Informer(client, Listed(PATH, Thing), Journal(), timing=Timing(random=lambda: 0.0), optional=True)
    running = asyncio.create_task(informer.run())
    await KindInformer("things", informer, True).ready()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    said = [(record.levelname, record.message) for record in caplog.records]
    assert said == [("INFO", f"{PATH}: the cluster does not serve this kind; asked again until it does")]


@pytest.mark.parametrize(
    ("lists", "known"),
    [((OLD, NEW), ["b"]), ((NOT_SERVED,), []), ((OLD, NOT_SERVED), ["a"])],
    ids=["served", "never served", "served no more"],
)
async def test_an_elected_replica_lists_an_optional_kind_again_if_it_is_served(
    client: ApiClient, fake: FakeApi, lists: Sequence[Answer], known: list[str]
) -> None:
    fake.on("GET", PATH, *lists)
    fake.on("WATCH", PATH, HOLD)
    informer = Informer(client, Listed(PATH, Thing), Journal(), timing=Timing(random=lambda: 0.0), optional=True)
    kind = KindInformer("things", informer, True)
    running = asyncio.create_task(informer.run())
    await kind.ready()
    await kind.refreshed()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert [each.metadata.name for each in informer.list()] == known
