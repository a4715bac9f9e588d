"""The routes of the pages, as an aiohttp application, standalone or mounted below another one.

A handler collects the inputs of a page, lets `views` compute it, and renders the result. All handlers answer only GET:
no page changes anything, here or in the cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Middleware

from muster.framework.contract import GroupId, GroupKind
from muster.framework.model.requests import CPU
from muster.operator.defrag.question import DefragQuestion
from muster.plugins.catalog import QUOTAS

from .answers import AnswerCache
from .capacity import NodeAmounts, labels, used_shares
from .census import Census, take_census
from .change_log import ChangeLog
from .cluster import ClusterState, FollowedCluster, Unavailable
from .cluster_history import ClusterHistory
from .safety import add_headers
from .samples import QueueSample, sample_of
from .stream import StreamHandler, Ticker
from .templating import Templates, static_files
from .views.changes import DAY, QUARTER, changes_page
from .views.group import group_page
from .views.history import history_page
from .views.moves import moves_page
from .views.nodes import map_page, node_page
from .views.parts import address
from .views.pod import pod_page
from .views.queue import queue_page
from .views.quotas import quotas_page

_LONGEST_BODY = 1 << 12
"""The limit of a request's body, which no page reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """The clocks of the pages: `wall` in seconds since the epoch, `timer` in monotonic seconds."""

    wall: Callable[[], float]
    timer: Callable[[], float]


class PageRoutes:
    """The routes of the pages about one cluster, and the state that the pages share.

    Args:
        base: the path below which the pages are; "" for the root.
        about: the footer's text: where the data comes from.
        every: the number of seconds between two polls of the cluster's state.
        history: the history of the cluster, if one is kept.

    Attributes:
        ticker: the ticker, which the caller runs as a task while the pages are served.
    """

    def __init__(
        self,
        cluster: FollowedCluster,
        *,
        time: Clocks,
        about: str,
        base: str = "",
        every: float = 1.0,
        history: ClusterHistory | None = None,
    ) -> None:
        self._cluster = cluster
        self._base = base
        self._about = about
        self._wall = time.wall
        self._history = history
        self._changes = ChangeLog() if history is None else history.changes
        self._answers = AnswerCache(time.timer, of_extenders=cluster.asks_extenders)
        self._templates = Templates(history=history is not None, moves=cluster.proposes_moves)
        self._files = static_files()
        self._census: tuple[ClusterState, Census] | None = None
        self.ticker = Ticker(cluster, self._changes, wall=time.wall, every=every)

    def application(self, middlewares: Sequence[Middleware] = ()) -> web.Application:
        """An aiohttp application that serves the pages."""
        app = web.Application(middlewares=middlewares, client_max_size=_LONGEST_BODY)
        app.on_response_prepare.append(add_headers)
        for path, handler in (
            ("/", self._queue),
            ("/nodes", self._nodes),
            ("/nodes/{name}", self._node),
            ("/pods/{namespace}/{name}", self._pod),
            ("/changes", self._latest),
            ("/quotas", self._quotas),
            ("/stream", StreamHandler(self.ticker).__call__),
            ("/static/{name}", self._static),
        ):
            app.router.add_get(path, handler, allow_head=False)
        if self._history is not None:
            app.router.add_get("/history", partial(self._past, self._history), allow_head=False)
        if self._cluster.proposes_moves:
            app.router.add_get("/moves", self._moves, allow_head=False)
        for kind in self._cluster.kinds:
            app.router.add_get(f"/{address(kind)}/{{namespace}}/{{name}}", partial(self._group, kind), allow_head=False)
        app.router.add_get("/{path:.*}", self._unknown_page, allow_head=False)
        return app

    async def _queue(self, request: web.Request) -> web.StreamResponse:
        view = queue_page(
            await self._current_census(),
            self._changes.latest(self._wall()),
            nodes=self._cluster.snapshot.node_count,
            find=request.query.get("find", "").strip(),
            now=self._wall(),
        )
        return await self._page("queue", view, page="Queue")

    async def _nodes(self, request: web.Request) -> web.StreamResponse:
        query = request.query
        resource = query.get("resource") or CPU
        columns = NodeAmounts.of(self._cluster.snapshot, resource)
        view = await asyncio.to_thread(
            map_page, columns, resource=resource, label=query.get("label"), listed=query.get("in")
        )
        return await self._page("nodes", view, page="Nodes")

    async def _node(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        view = node_page(self._cluster.snapshot, name, self._wall())
        if view is None:
            return await self._not_found(f"There is no node {name}.")
        return await self._page("node", view, page="Nodes")

    async def _group(self, kind: GroupKind[Any], request: web.Request) -> web.StreamResponse:
        wanted = GroupId(kind.plugin, _key(request))
        group = (await self._current_census()).groups.get(wanted)
        if group is None:
            return await self._not_found(f"There is no group {wanted.key}.")
        trial = None
        if group.place:
            question = (wanted, self._version())
            trial = await self._answers.get(question, lambda: self._cluster.try_group(wanted))
        view = group_page(group, trial, self._cluster.snapshot, self._wall())
        return await self._page("group", view, page="Queue")

    async def _pod(self, request: web.Request) -> web.StreamResponse:
        key = _key(request)
        pod = self._cluster.pod(key)
        if pod is None:
            return await self._not_found(f"There is no pod {key}, or it has ended.")
        question = (pod.metadata.uid, pod.metadata.resource_version, self._version())
        answer = await self._answers.get(question, lambda: self._cluster.explain(pod))
        view = pod_page(pod, await self._current_census(), answer, self._wall())
        return await self._page("pod", view, page="Queue")

    def _version(self) -> int:
        """The part of the cache key that changes with the cluster.

        It is constant if extenders take part, so that they are not called after each change.
        """
        return 0 if self._cluster.asks_extenders else self.ticker.version

    async def _latest(self, request: web.Request) -> web.StreamResponse:
        now = self._wall()
        census, kind = await self._current_census(), request.query.get("kind", "")
        period = QUARTER if self._history is None else DAY
        view = changes_page(self._changes.latest(now), census, period, kind=kind, now=now)
        return await self._page("changes", view, page="Changes")

    async def _quotas(self, request: web.Request) -> web.StreamResponse:
        report = await asyncio.to_thread(QUOTAS.report, self.ticker.state.quotas)
        view = quotas_page(report, all_known=self._cluster.reads_all)
        return await self._page("quotas", view, page="Quotas")

    async def _moves(self, request: web.Request) -> web.StreamResponse:
        question = DefragQuestion(start=request.query.get("start", ""), free=request.query.get("free", ""))
        report = await self._answers.get(question, lambda: self._cluster.propose_moves(question))
        view = moves_page(question, report, labels(self.ticker.state.nodes))
        return await self._page("moves", view, page="Moves")

    async def _past(self, history: ClusterHistory, request: web.Request) -> web.StreamResponse:
        view = await asyncio.to_thread(history_page, history.series.samples(), self._wall())
        return await self._page("history", view, page="History")

    async def _static(self, request: web.Request) -> web.StreamResponse:
        found = self._files.get(request.match_info["name"])
        if found is None:
            return await self._unknown_page(request)
        kind, body = found
        return web.Response(body=body, content_type=kind, charset="utf-8")

    async def _unknown_page(self, request: web.Request) -> web.StreamResponse:
        return await self._not_found(f"There is no page {request.path}.")

    async def _not_found(self, reason: str) -> web.StreamResponse:
        return await self._page("missing", Unavailable(reason), page="", status=HTTPStatus.NOT_FOUND)

    async def _page(
        self, template: str, view: object, *, page: str, status: HTTPStatus = HTTPStatus.OK
    ) -> web.StreamResponse:
        text = await self._templates.render(
            template,
            quotas=bool(self.ticker.state.quotas),
            view=view,
            page=page,
            base=self._base,
            about=self._about,
            version=self.ticker.version,
            missing=self._missing(),
        )
        response = web.Response(status=status, text=text, content_type="text/html")
        response.enable_compression()
        return response

    def _missing(self) -> Sequence[str]:
        error = "" if self._history is None else self._history.write_error
        return [*self._cluster.missing(), *([error] if error else ())]

    async def sample(self) -> QueueSample:
        """Take a sample of the cluster now, for its history."""
        return sample_of(await self._current_census(), used_shares(self._cluster.snapshot), self._wall())

    async def _current_census(self) -> Census:
        """The census of the latest state, computed once per state."""
        state = self.ticker.state
        if self._census is None or self._census[0] is not state:
            self._census = state, await asyncio.to_thread(take_census, state)
        return self._census[1]


def _key(request: web.Request) -> str:
    return f"{request.match_info['namespace']}/{request.match_info['name']}"
