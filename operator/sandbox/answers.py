"""Objects, lists and documents as HTTP responses, in the form that the client prefers: whole, or as tables."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from aiohttp import web

from muster.operator.sandbox import tables
from muster.operator.sandbox.errors import ApiError
from muster.operator.sandbox.kinds import Kind
from muster.operator.sandbox.ledger import Entry
from muster.operator.sandbox.listing import Page
from muster.operator.sandbox.objects import Object, metadata, name_of, without_empty_texts

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


def refusal(error: ApiError) -> web.Response:
    """Why a request was not carried out."""
    return document(error.status(), error.code)


def single(form: Form, entry: Entry, now: float, code: int = 200) -> web.Response:
    """One object."""
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
    head = msgspec.json.encode({"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": meta})
    items = b",".join([entry.item for entry in page.entries])
    return web.Response(body=b'%b,"items":[%b]}' % (head[:-1], items), content_type=JSON)


def deleted(kind: Kind, obj: Object) -> web.Response:
    """The success of a delete, for kinds that do not answer with the object itself."""
    details = {"name": name_of(obj), "group": kind.group, "kind": kind.resource, "uid": metadata(obj)["uid"]}
    return document(SUCCESS | {"details": without_empty_texts(details)})


def table_metadata(obj: Object) -> Object:
    """The metadata of a table of one object: its version, which a dry run does not have."""
    return {key: value for key, value in metadata(obj).items() if key == "resourceVersion"}
