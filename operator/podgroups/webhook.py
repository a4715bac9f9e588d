"""The webhook server for PodGroups, in the form that kopf expects.

kopf's own server answers an invalid review with a traceback and accepts any number of connections; this one has the
bounds of the pages' server. It answers 400 to an invalid review, and handles one review after another; the rest of the
process runs in between.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Literal, cast

import kopf
import msgspec
from aiohttp import web

from muster.framework.model.faults import fault
from muster.operator.serving import Bounds, Limits, Server, certificate_files

log = logging.getLogger(__name__)

LONGEST_REVIEW = 3 << 20
"""The limit in bytes: an object before and after, each of etcd's largest size. The API server admits larger ones."""
_BOUNDS = Bounds(Limits(total=16, per_address=8, handshakes=8), request_seconds=10.0)


class _Resource(msgspec.Struct):
    group: str
    version: str
    resource: str


class _Asked(msgspec.Struct):
    uid: str
    resource: _Resource
    operation: Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
    userInfo: dict[str, Any]
    object: dict[str, Any] | None = None
    oldObject: dict[str, Any] | None = None
    subResource: str | None = None


class _Review(msgspec.Struct):
    apiVersion: Literal["admission.k8s.io/v1", "admission.k8s.io/v1beta1"]
    kind: Literal["AdmissionReview"]
    request: _Asked


class ReviewServer:
    """Serves reviews with this certificate; a `kopf.WebhookServerProtocol`.

    Args:
        certificate, key: PEM files, read again when they change.
        port: to listen on, at `address`; "" for all addresses.
        host, authority: for a configuration that kopf manages, the host name to call and the PEM file to trust it by;
            by default the address and the certificate itself.
    """

    def __init__(
        self, certificate: Path, key: Path, *, port: int, address: str, host: str | None, authority: Path | None
    ) -> None:
        self._files = certificate, key
        self._port = port
        self._address = address
        self._host = host
        self._authority = authority or certificate
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, decide: kopf.WebhookFn) -> AsyncGenerator[kopf.WebhookClientConfig]:
        """Serve until closed. Raises ListenError and CertificateError."""

        async def review(request: web.Request) -> web.Response:
            async with self._one_at_a_time:
                await asyncio.sleep(0)
                return await _review(request, decide)

        app = web.Application(client_max_size=LONGEST_REVIEW)
        app.router.add_post("/{id:.*}", review)
        server = Server(app, host=self._address, port=self._port, tls=certificate_files(*self._files), bounds=_BOUNDS)
        port = await server.start()
        try:
            trusted = base64.b64encode(self._authority.read_bytes()).decode("ascii")
            yield {"url": f"https://{self._host or self._address or 'localhost'}:{port}", "caBundle": trusted}
            await asyncio.Event().wait()
        finally:
            await server.stop()


async def _review(request: web.Request, decide: kopf.WebhookFn) -> web.Response:
    body = await request.read()
    try:
        _check(body)
        # kopf gets the review as the API server sent it, because it reads more of it than is checked here
        review = cast("Any", msgspec.json.decode(body))
        answer = await decide(review, webhook=request.match_info["id"] or None, headers=dict(request.headers))
    except Exception as error:
        text = fault(error) if isinstance(error, msgspec.DecodeError) else " ".join(str(error).split())
        log.log(
            logging.INFO - 2, "Refused a request for review", extra={"pairs": {"err": text, "from": request.remote}}
        )
        return web.Response(status=400, text=f"{text}\n")
    return web.json_response(answer)


def _check(body: bytes) -> None:
    """Check the form of a review. Raises MsgspecError for other data, and ValueError for a review without an object."""
    review = msgspec.json.decode(body, type=_Review).request
    if review.object is None and review.oldObject is None:
        raise ValueError("neither `object` nor `oldObject` is there - at `$.request`")
