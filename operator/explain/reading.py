"""Groups of all kinds, read from the API: one for `muster why`; many, once or at each change, for `muster groups`.

The API stores no counts for some kinds of groups, and no place in the queue, so pods are read as well when these are
needed. Kinds that the caller may not read, or that the cluster does not serve, are omitted if the rest is still useful.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import msgspec

from muster.framework.contract import GroupId, GroupKind, GroupView, WatchedKind
from muster.framework.groups.owners import group_owner
from muster.framework.model.pod import Pod
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import Forbidden, NotFound
from muster.operator.kube.informer import Informer, Listed
from muster.operator.kube.listing import list_all, list_raw, read_object
from muster.operator.kube.transport import Transport
from muster.operator.podgroups.membership import GroupKinds

from .group_views import group_views, view_of

_GATHER_SECONDS = 0.1
"""Changes within this many seconds are reported together, because the pods of a gang change at once."""

_PODS = Listed("/api/v1/pods", Pod)


@dataclass(frozen=True, slots=True)
class Selected:
    """The groups to show: the groups with these labels in one namespace, or in all."""

    namespace: str | None = None
    label_selector: str = ""

    def groups(self, kind: GroupKind[Any]) -> Listed[Any]:
        """The list request for the groups of a kind."""
        return self._of(kind.objects, self.label_selector)

    def composites(self, kind: GroupKind[Any]) -> Iterator[Listed[Any]]:
        """The list requests for the composites of a kind; none for a kind without composites."""
        if kind.composites is not None:
            yield self._of(kind.composites)

    @property
    def pods(self) -> Listed[Pod]:
        """The list request for pods that may be members."""
        return Listed(f"/api/v1{self._scope}/pods", Pod) if self.namespace else _PODS

    @property
    def _scope(self) -> str:
        return f"/namespaces/{quote(self.namespace, safe='')}" if self.namespace else ""

    def _of(self, kind: WatchedKind, label_selector: str = "") -> Listed[Any]:
        return Listed(f"/apis/{kind.api_version}{self._scope}/{kind.plural}", kind.type, label_selector=label_selector)


_EVERYONE = Selected()


@dataclass(frozen=True, slots=True)
class GroupDocument:
    """A group as the API returns it."""

    name: str
    namespace: str
    body: dict[str, msgspec.Raw]


async def read_documents(connection: Connection, kinds: GroupKinds, selected: Selected) -> list[GroupDocument]:
    """The groups by namespace and name. Raises ApiError."""
    documents: list[GroupDocument] = []
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        first, *others = kinds
        for kind in others:
            with suppress(Forbidden, NotFound):
                documents += await _documents(client, kind, selected)
        try:
            documents = [*await _documents(client, first, selected), *documents]
        except NotFound:
            if not documents:
                raise
    return sorted(documents, key=lambda each: (each.namespace, each.name))


async def _documents(client: ApiClient, kind: GroupKind[Any], selected: Selected) -> list[GroupDocument]:
    found = await list_raw(client, selected.groups(kind).path, label_selector=selected.label_selector)
    return [_document(raw, kind.objects) for raw in found]


def _document(raw: msgspec.Raw, kind: WatchedKind) -> GroupDocument:
    """An item of a list with version and kind, which the API omits in lists of its built-in kinds."""
    versioned = {"apiVersion": kind.api_version, "kind": kind.name}
    body = {name: msgspec.Raw(msgspec.json.encode(text)) for name, text in versioned.items()}
    body |= msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    meta = msgspec.json.decode(raw, type=kind.type).metadata
    return GroupDocument(meta.name, meta.namespace, body)


async def read_group(connection: Connection, namespace: str, name: str, kinds: Sequence[GroupKind[Any]]) -> GroupView:
    """Read a group, without its place; if several kinds have a group of this name, the first kind counts.

    Raises ApiError; if no kind has the group, the error of the first kind.
    """
    first, *others = kinds
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        try:
            return await _read_group(client, Selected(namespace), first, name)
        except NotFound as error:
            for kind in others:
                with suppress(Forbidden, NotFound):
                    return await _read_group(client, Selected(namespace), kind, name)
            raise error from None


async def _read_group(client: ApiClient, selected: Selected, kind: GroupKind[Any], name: str) -> GroupView:
    group: Any = await read_object(client, f"{selected.groups(kind).path}/{quote(name, safe='')}", kind.objects.type)
    selectors = kind.selectors(name) if group_owner(group.metadata) is None else ()
    lists = [replace(selected.pods, label_selector=each) for each in selectors or ("",)]
    found = await asyncio.gather(*(list_all(client, each) for each in lists))
    pods = {pod.metadata.key: pod for some in found for pod in some}.values()
    group_of = GroupKinds([kind]).among({kind.objects: [group]}).named_by
    own = GroupId(kind.plugin, group.metadata.key)
    return view_of(kind, group, [pod for pod in pods if group_of(pod) == own])


async def list_groups(
    connection: Connection, kinds: GroupKinds, selected: Selected, *, places: bool
) -> list[GroupView]:
    """The groups by namespace and name; with their `places` if the caller may read groups and pods of all namespaces.

    Raises ApiError.
    """
    async with Transport(connection) as transport:
        view = await _look(ApiClient(transport), kinds, selected, places=places)
    return view.groups(lambda listed: view.read.get(listed, ()))


async def follow_groups(
    connection: Connection,
    kinds: GroupKinds,
    selected: Selected,
    report: Callable[[Sequence[GroupView]], None],
    *,
    places: bool,
) -> None:
    """Call `report` with all groups, by namespace and name, and again whenever they change, until cancelled.

    Raises ApiError if they cannot be read at first.
    """
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        view = await _look(client, kinds, selected, places=places)
        changed = _Changed()
        informers = {listed: Informer(client, listed, changed, optional=True) for listed in view.read}

        async def report_changes() -> None:
            for informer in informers.values():
                await informer.synced.wait()
            while True:
                changed.event.clear()
                report(view.groups(lambda listed: informers[listed].list() if listed in informers else ()))
                await changed.event.wait()
                await asyncio.sleep(_GATHER_SECONDS)

        work = (report_changes(), *(each.run() for each in informers.values()))
        tasks = [asyncio.ensure_future(each) for each in work]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()


@dataclass(frozen=True, slots=True)
class _View:
    """The objects that were read, and how they are counted.

    Attributes:
        kinds: the kinds of the groups.
        selected: the groups to show.
        around: the groups and pods that are counted, `selected` included.
        places: whether `around` is the whole cluster, so that places are known.
        read: the lists that could be read, with their first results.
    """

    kinds: GroupKinds
    selected: Selected
    around: Selected
    places: bool
    read: dict[Listed[Any], list[Any]]

    def groups(self, get: Callable[[Listed[Any]], Iterable[Any]]) -> list[GroupView]:
        """The groups that the user asked for, in their current versions."""
        shown_ids: set[GroupId] = set()
        objects: dict[WatchedKind, Iterable[Any]] = {}
        for kind in self.kinds:
            shown_ids |= {GroupId(kind.plugin, each.metadata.key) for each in get(self.selected.groups(kind))}
            objects[kind.objects] = get(self.around.groups(kind))
            if kind.composites is not None:
                objects[kind.composites] = [each for all_ in _EVERYONE.composites(kind) for each in get(all_)]
        found = group_views(self.kinds, objects, get(self.around.pods))
        shown = [each if self.places else replace(each, place=0) for each in found if each.id in shown_ids]
        return sorted(shown, key=lambda each: (each.metadata.namespace, each.metadata.name))


async def _look(client: ApiClient, kinds: GroupKinds, selected: Selected, *, places: bool) -> _View:
    """Find out which kinds can be read. Raises ApiError if the requested groups cannot."""
    first, *others = kinds
    read: dict[Listed[Any], list[Any]] = {}
    await _read(client, read, [selected.groups(kind) for kind in others], Forbidden, NotFound)
    try:
        await _read(client, read, [selected.groups(first)])
    except NotFound:
        if not any(read.values()):
            raise
    if places:
        try:
            everything = dict(read)
            further = [each for kind in others for each in (_EVERYONE.groups(kind), *_EVERYONE.composites(kind))]
            await _read(client, everything, further, NotFound, Forbidden)
            await _read(client, everything, [_EVERYONE.groups(first), *_EVERYONE.composites(first)], NotFound)
            await _read(client, everything, [_PODS])
        except Forbidden:
            pass
        else:
            return _View(kinds, selected, _EVERYONE, True, everything)
    uncounted = [each for kind in kinds if not kind.counts_members and (each := selected.groups(kind)) in read]
    if uncounted:
        try:
            await _read(client, read, [selected.pods])
        except Forbidden:
            if any([read.pop(each) for each in uncounted]):
                raise
    return _View(kinds, selected, selected, False, read)


async def _read(
    client: ApiClient, read: dict[Listed[Any], list[Any]], lists: Collection[Listed[Any]], *left_out: type[Exception]
) -> None:
    """Read these lists; omit a list that fails with one of these errors."""
    for listed in lists:
        if listed not in read:
            try:
                read[listed] = await list_all(client, listed)
            except left_out:
                continue


class _Changed:
    """A handler that notes that an object has changed."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def on_add(self, obj: object) -> None:
        self.event.set()

    def on_update(self, old: object, new: object) -> None:
        self.event.set()

    def on_delete(self, obj: object) -> None:
        self.event.set()
