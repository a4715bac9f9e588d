"""The reviews that Muster's own pages request of the API."""

import time

import aiohttp

from muster.operator.serving import ReviewAuthorizer
from muster.sandbox import Sandbox


class _Api:
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def post(self, path: str, body: bytes) -> bytes:
        async with self._session.post(path, data=body, headers={"Content-Type": "application/json"}) as response:
            response.raise_for_status()
            return await response.read()


async def test_every_token_may_read_the_pages(sandbox: Sandbox) -> None:
    async with aiohttp.ClientSession(sandbox.url) as session:
        decision = await ReviewAuthorizer(_Api(session), timer=time.monotonic).authorize("any", "/metrics")

    assert decision.allowed
