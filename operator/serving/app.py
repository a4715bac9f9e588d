"""The routes of the pages, as an aiohttp application.

Health pages answer every client; all other pages ask the authorizer, if there is one. Long pages are written in blocks,
and other tasks of the event loop, such as scheduling cycles, run after each block.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from ..metrics import CONTENT_TYPE
from .authorization import AccessDecision, Authorizer
from .health import PING, Checks, ProbeAnswer, probe, single

_LONGEST_BODY = 1 << 12
"""The limit of a request's body, which no page reads."""
_HEAD = (
    "\nmuster {}\nWarning: This endpoint is not meant to be machine parseable, "
    "has no formatting compatibility guarantees and is for debugging purposes only.\n"
)
"""The beginning of kube-scheduler's pages of this kind."""
_HEALTH_PAGES = ("livez", "healthz", "readyz")


@dataclass(frozen=True, slots=True)
class Unknown:
    """The reason why no decision about a pod is known, as a sentence for users."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSources:
    """The sources of the pages' contents. All are called on the event loop, once per request.

    Attributes:
        livez: the checks after whose failure the process should be restarted.
        healthz: the checks of the older page, traditionally the watchdog of leader election.
        readyz: the checks that fail while the process does not schedule, at its start or end.
        metrics: `/metrics` in blocks of text.
        resources: `/metrics/resources` in blocks of text; empty in a process that does not lead.
        config: `/configz`, a JSON value.
        leads: whether this process decides; otherwise it does not know why a pod waits.
        statusz: `/statusz`, titles and texts about the process.
        flagz: `/flagz`, the flags of the process.
        why: `/debug/why`, called with namespace and name: a JSON value, or Unknown.
    """

    livez: Checks
    healthz: Checks
    readyz: Checks
    metrics: Callable[[], Iterable[bytes]]
    resources: Callable[[], Iterable[bytes]]
    config: Callable[[], object]
    why: Callable[[str, str], object]
    leads: Callable[[], bool] = lambda: True
    statusz: Callable[[], Mapping[str, str]] = dict
    flagz: Callable[[], Mapping[str, str]] = dict


def application(sources: PageSources, authorizer: Authorizer | None) -> web.Application:
    """An application with these sources; without an authorizer, every client may read all pages."""
    app = web.Application(middlewares=[] if authorizer is None else [_guard(authorizer)], client_max_size=_LONGEST_BODY)
    for page in _HEALTH_PAGES:
        checks: Checks = getattr(sources, page) or PING
        _get(app, f"/{page}", partial(_probe, page, checks))
        _get(app, f"/{page}/{{check}}", partial(_single, checks))
    _get(app, "/metrics", partial(_blocks, sources.metrics))
    _get(app, "/metrics/resources", partial(_blocks, sources.resources))
    _get(app, "/configz", partial(_config, sources.config))
    _get(app, "/debug/why", partial(_why, sources.why))
    _get(app, "/namespaces/{namespace}/pods/{pod}/why", partial(_why_of_pod, sources))
    _get(app, "/flagz", partial(_table, "flagz", lambda: dict(sorted(sources.flagz().items()))))
    paths = " ".join(sorted(resource.canonical for resource in app.router.resources() if "{" not in resource.canonical))
    _get(app, "/statusz", partial(_table, "statusz", lambda: {**sources.statusz(), "Paths": paths}))
    return app


def _get(app: web.Application, path: str, handler: Handler) -> None:
    app.router.add_get(path, handler, allow_head=False)


async def _probe(page: str, checks: Checks, request: web.Request) -> web.Response:
    query = request.query
    return _plain(probe(page, checks, excluded=query.getall("exclude", []), verbose="verbose" in query))


async def _single(checks: Checks, request: web.Request) -> web.Response:
    check = checks.get(request.match_info["check"])
    if check is None:
        return _plain(ProbeAnswer(HTTPStatus.NOT_FOUND, "404 page not found\n"))
    return _plain(single(check))


def _plain(answer: ProbeAnswer) -> web.Response:
    return web.Response(status=answer.status, text=answer.text, headers={"X-Content-Type-Options": "nosniff"})


async def _blocks(source: Callable[[], Iterable[bytes]], request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE})
    response.enable_compression()
    await response.prepare(request)
    for block in source():
        await response.write(block)
        await asyncio.sleep(0)
    await response.write_eof()
    return response


async def _config(source: Callable[[], object], _: web.Request) -> web.Response:
    return _json(source())


async def _why_of_pod(sources: PageSources, request: web.Request) -> web.Response:
    """The answer about a pod, if this process decides about it."""
    if not sources.leads():
        return _json({"message": "this replica does not lead, ask again"}, HTTPStatus.SERVICE_UNAVAILABLE)
    answer = sources.why(request.match_info["namespace"], request.match_info["pod"])
    if isinstance(answer, Unknown):
        return _json({"message": answer.reason}, HTTPStatus.NOT_FOUND)
    return _json(answer)


async def _table(page: str, source: Callable[[], Mapping[str, str]], _: web.Request) -> web.Response:
    lines = "".join(f"{title}: {text}\n" for title, text in source().items())
    return web.Response(text=f"{_HEAD.format(page)}\n{lines}")


async def _why(source: Callable[[str, str], object], request: web.Request) -> web.Response:
    namespace, slash, name = request.query.get("pod", "").partition("/")
    if not (namespace and slash and name):
        return _json({"reason": "ask for a pod as ?pod=namespace/name"}, HTTPStatus.BAD_REQUEST)
    answer = source(namespace, name)
    if isinstance(answer, Unknown):
        return _json({"reason": answer.reason}, HTTPStatus.NOT_FOUND)
    return _json(answer)


def _json(content: object, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(content), content_type="application/json")


def _guard(authorizer: Authorizer) -> Middleware:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.removeprefix("/").partition("/")[0] in _HEALTH_PAGES:
            return await handler(request)
        decision = await authorizer.authorize(_bearer(request), request.path)
        return await handler(request) if decision.allowed else _refusal(decision)

    return guard


def _bearer(request: web.Request) -> str | None:
    scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


_REASONS: Mapping[HTTPStatus, str] = {
    HTTPStatus.UNAUTHORIZED: "Unauthorized",
    HTTPStatus.FORBIDDEN: "Forbidden",
    HTTPStatus.INTERNAL_SERVER_ERROR: "InternalError",
}


def _refusal(decision: AccessDecision) -> web.Response:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": decision.message,
        "reason": _REASONS[decision.status],
        "details": {},
        "code": decision.status,
    }
    return _json(status, decision.status)
