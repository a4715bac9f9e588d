"""The HTTP edge: which verb of the store a request means, and the response.

One handler answers every path. It reads the body, parses the request with `requests`, calls the store, and writes the
response with `responses` or `streaming`. These and `server` are the only modules here that do I/O.
"""

from dataclasses import replace

import msgspec
from aiohttp import web

from muster.sandbox import actions, errors, patching, requests, responses, selectors
from muster.sandbox.errors import StatusError
from muster.sandbox.incoming import WriteOptions
from muster.sandbox.kinds import BINDINGS, REVIEWS
from muster.sandbox.ledger import Entry
from muster.sandbox.listing import Page
from muster.sandbox.objects import Object, name_of, namespace_of
from muster.sandbox.registry import Kind
from muster.sandbox.requests import RequestTarget
from muster.sandbox.responses import Form
from muster.sandbox.selectors import Selection
from muster.sandbox.store import ObjectStore
from muster.sandbox.streaming import LIFETIME_SECONDS, Streams
from muster.sandbox.watching import Watch

BODY_LIMIT = 3 * 1024 * 1024
"""Bytes that a request may carry."""

_OPTIONS_KINDS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}


class Handler:
    """Answers the requests of one sandbox, until `close` ends its watches."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._streams = Streams(store)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to any request."""
        try:
            return await self._answer(request)
        except StatusError as error:
            return responses.refusal(error)
        except web.HTTPRequestEntityTooLarge:
            return responses.refusal(errors.too_large(BODY_LIMIT))

    def close(self) -> None:
        """Ends all watches, and every later one at once."""
        self._streams.close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET" and (document := responses.document_at(self._store.kinds, request)) is not None:
            return document
        target = requests.target(self._store.kinds, request.path)
        if target.kind is BINDINGS or target.subresource in ("binding", "eviction"):
            return await self._act(request, target)
        if target.kind in REVIEWS and request.method == "POST":
            return responses.document(actions.review(target.kind, await _body(request)), 201)
        if target.subresource == "scale":
            return await self._scale(request, target)
        watched = requests.is_true(request.query, "watch")
        match request.method, bool(target.name):
            case "GET", _ if watched:
                return await self._watch(request, target)
            case "GET", True:
                return self._single(request, self._store.get(target.kind, target.name, namespace=target.namespace))
            case "GET", False:
                return self._list(request, target)
            case "POST", False:
                return await self._create(request, target)
            case "PUT", True:
                return await self._update(request, target)
            case "PATCH", True:
                return await self._patch(request, target)
            case "DELETE", True if not target.subresource:
                return await self._delete(request, target)
            case "DELETE", False:
                return await self._delete_collection(request, target)
        raise errors.method_not_allowed()

    def _list(self, request: web.BaseRequest, target: RequestTarget) -> web.Response:
        _require_verb(target.kind, "list")
        selection, options = _selection(request, target), requests.list_options(request.query)
        page = self._store.list(target.kind, namespace=target.namespace, selection=selection, options=options)
        return self._listing(request, target.kind, page)

    async def _create(self, request: web.BaseRequest, target: RequestTarget) -> web.Response:
        _require_verb(target.kind, "create")
        obj, options = await _body(request), _write_options(request, target)
        entry = self._store.create(target.kind, obj, namespace=target.namespace, options=options)
        return _warned(self._single(request, entry, 201), options)

    async def _update(self, request: web.BaseRequest, target: RequestTarget) -> web.Response:
        _require_verb(target.kind, "update")
        obj, options = await _body(request), _write_options(request, target)
        known = self._known(target)
        entry = self._store.update(target.kind, target.name, obj, namespace=target.namespace, options=options)
        return _warned(self._single(request, entry, 200 if known else 201), options)

    async def _patch(self, request: web.BaseRequest, target: RequestTarget) -> web.Response:
        _require_verb(target.kind, "patch")
        if request.content_type not in patching.formats(target.kind):
            raise errors.unsupported_media_type(patching.formats(target.kind))
        if request.content_type == patching.APPLY and not request.query.get("fieldManager"):
            wrong = errors.InvalidField(errors.REQUIRED, "fieldManager", "is required for apply patch")
            raise errors.invalid_of("PatchOptions", "", [wrong], group="meta.k8s.io")
        patch, options = requests.decoded(await request.read()), _write_options(request, target)
        known = self._known(target)
        entry = self._store.patch(
            target.kind, target.name, patch, request.content_type, namespace=target.namespace, options=options
        )
        return _warned(self._single(request, entry, 200 if known else 201), options)

    async def _delete(self, request: web.BaseRequest, target: RequestTarget) -> web.Response:
        _require_verb(target.kind, "delete")
        options = requests.delete_options(request.query, await _body(request) if request.body_exists else {})
        deletion = self._store.delete(target.kind, target.name, namespace=target.namespace, options=options)
        if deletion.gone and not target.kind.returns_deleted:
            return responses.deleted(target.kind, deletion.entry.obj)
        return self._single(request, deletion.entry)

    async def _delete_collection(self, request: web.BaseRequest, target: RequestTarget) -> web.Response:
        _require_verb(target.kind, "deletecollection")
        options = requests.delete_options(request.query, await _body(request) if request.body_exists else {})
        page = self._store.list(target.kind, namespace=target.namespace, selection=_selection(request, target))
        gone = [
            self._store.delete(
                target.kind, name_of(entry.obj), namespace=namespace_of(entry.obj), options=options
            ).entry
            for entry in page.entries
        ]
        return self._listing(request, target.kind, Page(gone, self._store.ledger.revision))

    async def _act(self, request: web.BaseRequest, target: RequestTarget) -> web.Response:
        """Binds or evicts a pod."""
        if request.method != "POST":
            raise errors.method_not_allowed()
        body = await _body(request)
        name = target.name or name_of(body)
        if target.subresource == "eviction":
            options = requests.delete_options(request.query, body.get("deleteOptions") or {})
            actions.evict(self._store, name, body, namespace=target.namespace, options=options)
        else:
            dry_run = request.query.get("dryRun") == "All"
            actions.bind(self._store, name, body, namespace=target.namespace, dry_run=dry_run)
        return responses.document(responses.SUCCESS | {"code": 201}, 201)

    async def _scale(self, request: web.BaseRequest, target: RequestTarget) -> web.Response:
        """Shows or sets how many replicas a workload has."""
        workload = self._store.get(target.kind, target.name, namespace=target.namespace).obj
        scale = actions.scale_of(target.kind, workload)
        if request.method in ("PUT", "PATCH"):
            options = _write_options(request, replace(target, subresource=""))
            if request.method == "PUT":
                scale = await _body(request)
            else:
                patch = requests.decoded(await request.read())
                scale = patching.patched(target.kind, _plain(request.content_type), scale, patch)
            changed = actions.scaled(workload, scale)
            entry = self._store.update(target.kind, target.name, changed, namespace=target.namespace, options=options)
            scale = actions.scale_of(target.kind, entry.obj)
        elif request.method != "GET":
            raise errors.method_not_allowed()
        return responses.document(scale)

    async def _watch(self, request: web.BaseRequest, target: RequestTarget) -> web.StreamResponse:
        _require_verb(target.kind, "watch")
        options = requests.watch_options(request.query)
        watch = Watch(self._store, target.kind, target.namespace, _selection(request, target), options=options)
        lifetime = requests.timeout_seconds(request.query, LIFETIME_SECONDS)
        return await self._streams.serve(request, target.kind, watch, lifetime=lifetime, bookmarks=options.bookmarks)

    def _known(self, target: RequestTarget) -> bool:
        return self._store.find(target.kind, target.name, namespace=target.namespace) is not None

    def _single(self, request: web.BaseRequest, entry: Entry, code: int = 200) -> web.Response:
        return responses.single(Form.of(request), entry, self._store.sources.clock(), code)

    def _listing(self, request: web.BaseRequest, kind: Kind, page: Page) -> web.Response:
        return responses.listing(Form.of(request), kind, page, self._store.sources.clock())


async def _body(request: web.BaseRequest) -> Object:
    return requests.body(request.headers.get("Content-Type", ""), await request.read())


def _plain(content_type: str) -> str:
    """The format of a patch of a Scale, in which a strategic merge has nothing to merge by keys."""
    return patching.MERGE if content_type == patching.STRATEGIC else content_type


def _require_verb(kind: Kind, verb: str) -> None:
    if verb not in kind.verbs:
        raise errors.method_not_allowed()


def _selection(request: web.BaseRequest, target: RequestTarget) -> Selection:
    fields = request.query.get("fieldSelector", "")
    if target.name:
        fields = f"metadata.name={target.name}"
    return selectors.parse(target.kind, labels=request.query.get("labelSelector", ""), fields=fields)


def _write_options(request: web.BaseRequest, target: RequestTarget) -> WriteOptions:
    agent, options_kind = request.headers.get("User-Agent", ""), _OPTIONS_KINDS[request.method]
    return requests.write_options(request.query, agent, target.subresource, options_kind)


def _warned(response: web.Response, options: WriteOptions) -> web.Response:
    """The response with a header for each warning that the write has led to."""
    for warning in options.warnings:
        response.headers.add("Warning", f"299 - {msgspec.json.encode(warning).decode()}")
    return response
