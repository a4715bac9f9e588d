"""Lists and their pages.

The pages of one list show one moment: the first page stores the list, later ones continue in it. Only the newest few
lists are kept; a token of an older one gets 410 and, as from kube-apiserver, a token to continue without consistency.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter

import msgspec

from muster.sandbox import errors
from muster.sandbox.ledger import Entry, Ledger, key_of
from muster.sandbox.registry import Kind
from muster.sandbox.selectors import Selection

_MOMENTS = 32
_NEWEST = -1
_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The query of a list; `limit` 0 means no limit, an empty text means that the parameter was not given."""

    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    match: str = ""


WHOLE_LIST = ListOptions()


@dataclass(frozen=True, slots=True)
class Page:
    """Entries in key order, the revision they show, the token of the next page, and how many are left (if known)."""

    entries: list[Entry]
    revision: int
    next_token: str = ""
    remaining: int | None = None

    def mapped(self, view: Callable[[Entry], Entry]) -> "Page":
        """The page with every entry replaced."""
        return replace(self, entries=[view(entry) for entry in self.entries])


class _Token(msgspec.Struct):
    v: str
    rv: int
    start: str


class Pager:
    """Cuts lists into pages, and remembers the moments that unfinished lists show."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._moments: OrderedDict[tuple[Kind, str, int], list[Entry]] = OrderedDict()

    def page(self, kind: Kind, namespace: str, selection: Selection, options: ListOptions) -> Page:
        """One page of the objects of a kind. Raises 400 for a bad query and 410 for an expired token."""
        if options.continue_token:
            return self._continued(kind, namespace, selection, options)
        self._check_revision(options)
        revision = self._ledger.revision
        if selection.name is not None and (namespace or not kind.namespaced):
            entry = self._ledger.get(kind, key_of(namespace, selection.name))
            entries = [entry] if entry else []
        else:
            entries = self._ledger.entries(kind, namespace)
        page, rest = self._cut(entries, selection, options.limit)
        if not rest:
            return Page(page, revision)
        self._remember((kind, namespace, revision), entries)
        return self._unfinished(page, rest, revision, selection)

    def forget(self) -> None:
        """Drops all moments, as a compaction would."""
        self._moments.clear()

    def _continued(self, kind: Kind, namespace: str, selection: Selection, options: ListOptions) -> Page:
        token = _decode(options.continue_token)
        if options.resource_version not in ("", "0"):
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        if token.rv == _NEWEST:
            entries, revision = self._ledger.entries(kind, namespace), self._ledger.revision
            self._remember((kind, namespace, revision), entries)
        else:
            entries, revision = self._moment(kind, namespace, token), token.rv
        start = bisect_right(entries, token.start, key=attrgetter("key"))
        page, rest = self._cut(entries[start:], selection, options.limit)
        return self._unfinished(page, rest, revision, selection) if rest else Page(page, revision)

    def _moment(self, kind: Kind, namespace: str, token: _Token) -> list[Entry]:
        entries = self._moments.get((kind, namespace, token.rv))
        if entries is None:
            raise errors.expired(_TOO_OLD, list_continue=_encode(token.start, _NEWEST))
        return entries

    def _cut(self, entries: list[Entry], selection: Selection, limit: int) -> tuple[list[Entry], list[Entry]]:
        """The entries of one page, and all that come after the last of them."""
        if selection.everything:
            return (entries[:limit], entries[limit:]) if limit else (entries, [])
        page: list[Entry] = []
        for index, entry in enumerate(entries):
            if limit and len(page) == limit:
                return page, entries[index:]
            if selection.matches(entry.obj):
                page.append(entry)
        return page, []

    def _unfinished(self, page: list[Entry], rest: list[Entry], revision: int, selection: Selection) -> Page:
        remaining = len(rest) if selection.everything else None
        return Page(page, revision, _encode(page[-1].key, revision), remaining)

    def _remember(self, moment: tuple[Kind, str, int], entries: list[Entry]) -> None:
        self._moments[moment] = entries
        while len(self._moments) > _MOMENTS:
            self._moments.popitem(last=False)

    def _check_revision(self, options: ListOptions) -> None:
        if options.match and not options.resource_version:
            raise _forbidden_match("resourceVersionMatch is forbidden unless resourceVersion is provided")
        try:
            wanted = int(options.resource_version or 0)
        except ValueError:
            raise errors.bad_request(f"invalid resource version: {options.resource_version}") from None
        if wanted > self._ledger.revision:
            message = f"Timeout: Too large resource version: {wanted}, current: {self._ledger.revision}"
            causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
            raise errors.StatusError(504, "Timeout", message, details={"causes": causes, "retryAfterSeconds": 1})
        if options.match == "Exact" and wanted != self._ledger.revision:
            raise errors.expired("The resourceVersion for the provided list is too old.")


def _forbidden_match(reason: str) -> errors.StatusError:
    wrong = errors.InvalidField(errors.FORBIDDEN, "resourceVersionMatch", reason)
    return errors.invalid_of("ListOptions", "", [wrong], group="meta.k8s.io")


def _encode(key: str, revision: int) -> str:
    token = msgspec.json.encode(_Token("meta.k8s.io/v1", revision, f"{key}\0"))
    return urlsafe_b64encode(token).decode().rstrip("=")


def _decode(text: str) -> _Token:
    try:
        padded = text + "=" * (-len(text) % 4)
        token = msgspec.json.decode(urlsafe_b64decode(padded), type=_Token)
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError, ValueError):
        raise errors.bad_request("invalid continue token: continue key is not valid") from None
    return msgspec.structs.replace(token, start=token.start.rstrip("\0"))
