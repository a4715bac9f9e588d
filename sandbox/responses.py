"""Responses in one piece: objects, lists, refusals, and the documents about the server itself.

Objects and lists have the form that the client prefers: whole, or as tables.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from aiohttp import web

from muster.sandbox import discovery, errors, openapi, tables
from muster.sandbox.errors import StatusError
from muster.sandbox.ledger import Entry
from muster.sandbox.listing import Page
from muster.sandbox.objects import Object, metadata, name_of, without_empty_texts
from muster.sandbox.registry import Kind, Registry

JSON = "application/json"
SUCCESS: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


@dataclass(frozen=True, slots=True)
class Form:
    """How a client wants objects. `include` says what of each object goes into the rows of a table."""

    table: bool
    include: str

    @classmethod
    def of(cls, request: web.BaseRequest) -> "Form":
        """The form that is preferred by the first media type that a client accepts."""
        preferred = request.headers.get("Accept", "").partition(",")[0]
        return cls("as=Table" in preferred, request.query.get("includeObject", ""))

    def table_of(
        self, kind: Kind, entries: Iterable[Entry], now: float, meta: Object, *, headers: bool = True
    ) -> Object:
        """The table of some objects; `meta` is its metadata, `now` the time that ages are counted to."""
        table = tables.render(kind, entries, now, include=self.include, headers=headers)
        return table | {"metadata": meta}


def document(content: Object, code: int = 200) -> web.Response:
    """Any JSON object."""
    return web.Response(body=msgspec.json.encode(content), content_type=JSON, status=code)


def refusal(error: StatusError) -> web.Response:
    """The reason why a request was not carried out."""
    return document(error.status(), error.code)


def single(form: Form, entry: Entry, now: float, code: int = 200) -> web.Response:
    """The response with one object."""
    if form.table:
        return document(form.table_of(entry.kind, [entry], now, table_metadata(entry.obj)), code)
    return web.Response(body=entry.whole, content_type=JSON, status=code)


def listing(form: Form, kind: Kind, page: Page, now: float) -> web.Response:
    """One page of a list, put together from the bytes that its entries keep."""
    meta: Object = {"resourceVersion": str(page.revision), "continue": page.next_token}
    meta = without_empty_texts(meta)
    if page.remaining is not None:
        meta["remainingItemCount"] = page.remaining
    if form.table:
        return document(form.table_of(kind, page.entries, now, meta))
    head = msgspec.json.encode({"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": meta})
    items = b",".join([entry.item for entry in page.entries])
    return web.Response(body=b'%b,"items":[%b]}' % (head[:-1], items), content_type=JSON)


def deleted(kind: Kind, obj: Object) -> web.Response:
    """The success of a delete, for kinds that do not answer with the object itself."""
    details = {"name": name_of(obj), "group": kind.group, "kind": kind.resource, "uid": metadata(obj)["uid"]}
    return document(SUCCESS | {"details": without_empty_texts(details)})


def table_metadata(obj: Object) -> Object:
    """The metadata of a table of one object: its version, which a dry run does not have."""
    return {key: value for key, value in metadata(obj).items() if key == "resourceVersion"}


_HEALTH_PATHS = ("/healthz", "/livez", "/readyz")


def document_at(kinds: Registry, request: web.BaseRequest) -> web.Response | None:
    """The document at the path of a GET request, or None where the path is about objects."""
    path = request.path.rstrip("/") or "/"
    if path in _HEALTH_PATHS:
        return web.Response(text="ok")
    if path in ("/api", "/apis") and (version := _aggregated_version(request)):
        content = discovery.aggregated(kinds, core=path == "/api", version=version)
        media = f"{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
        return web.Response(body=msgspec.json.encode(content), headers={"Content-Type": media})
    match path.strip("/").split("/"):
        case [""]:
            return document(discovery.paths(kinds))
        case ["version"]:
            return document(discovery.server_version())
        case ["api"]:
            return document(discovery.core_versions(request.host))
        case ["apis"]:
            return document(discovery.groups(kinds))
        case ["api", version]:
            return _found(discovery.resources(kinds, "", version))
        case ["apis", group]:
            return _found(discovery.group(kinds, group))
        case ["apis", group, version]:
            return _found(discovery.resources(kinds, group, version))
        case ["openapi", "v2"]:
            return _openapi_v2(request)
        case ["openapi", "v3"]:
            return document(openapi.index(kinds))
        case ["openapi", "v3", *rest]:
            return _found(openapi.document(kinds, "/".join(rest)))
    return None


def _aggregated_version(request: web.BaseRequest) -> str:
    accept = request.headers.get("Accept", "")
    wanted = (version for version in discovery.AGGREGATED_TYPES if f"v={version};as=APIGroupDiscoveryList" in accept)
    return next(wanted, "")


def _openapi_v2(request: web.BaseRequest) -> web.Response:
    if openapi.V2_ACCEPTED in request.headers.get("Accept", ""):
        return web.Response(body=openapi.v2_protobuf(), content_type=openapi.V2_PROTOBUF)
    return document(openapi.v2())


def _found(content: Object | None) -> web.Response:
    if content is None:
        raise errors.no_such_path()
    return document(content)
