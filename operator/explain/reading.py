"""Groups of both kinds read from the API: one for `muster why`; many, also whenever one changes, for `muster groups`.

The API keeps no counts of Kubernetes' own groups and nobody's place in the queue, so pods are read as well where
somebody wants these. What the caller may not read, or the cluster does not serve, is left out where the rest makes
sense without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from muster.framework.model.pod import Pod
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import Forbidden, NotFound
from muster.operator.kube.informer import Informer, Listed
from muster.operator.kube.listing import list_all, list_raw
from muster.operator.kube.transport import Transport
from muster.operator.podgroups.membership import group_of, is_native
from muster.plugins.coscheduling import api as labelled
from muster.plugins.gangscheduling import api as native
from muster.plugins.gangscheduling.composite_api import COMPOSITE_POD_GROUPS, CompositePodGroup

from .standing import Group, native_with_members, standing, with_members

_GATHER_SECONDS = 0.1
"""Changes that come this close to one another are told of together: pods of a gang change at once."""

_PODS = Listed("/api/v1/pods", Pod)
_COMPOSITES = Listed(COMPOSITE_POD_GROUPS.path, CompositePodGroup)


@dataclass(frozen=True, slots=True)
class Selected:
    """Which groups are asked for: those of a namespace, or of all, that have these labels."""

    namespace: str | None = None
    label_selector: str = ""

    @property
    def groups(self) -> Listed[labelled.PodGroup]:
        """The list of those that pods join by label."""
        path = self._path(labelled.API_VERSION, labelled.PLURAL)
        return Listed(path, labelled.PodGroup, label_selector=self.label_selector)

    @property
    def native(self) -> Listed[native.PodGroup]:
        """The list of Kubernetes' own."""
        return Listed(
            self._path(native.API_VERSION, native.PLURAL), native.PodGroup, label_selector=self.label_selector
        )

    @property
    def pods(self) -> Listed[Pod]:
        """The list of pods that may be their members."""
        return Listed(f"/api/v1/namespaces/{self.namespace}/pods", Pod) if self.namespace else _PODS

    def _path(self, version: str, plural: str) -> str:
        scope = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"/apis/{version}{scope}/{plural}"


_EVERYONE = Selected()


@dataclass(frozen=True, slots=True)
class Document:
    """A group as the API has it."""

    name: str
    namespace: str
    body: dict[str, msgspec.Raw]


async def read_documents(connection: Connection, selected: Selected) -> list[Document]:
    """The groups by namespace and name. Raises ApiError."""
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        try:
            own = await list_raw(client, selected.native.path, label_selector=selected.label_selector)
        except (Forbidden, NotFound):
            own = []
        try:
            found = await list_raw(client, selected.groups.path, label_selector=selected.label_selector)
        except NotFound:
            if not own:
                raise
            found = []
    documents = [_document(raw, labelled.API_VERSION, labelled.KIND) for raw in found]
    documents += [_document(raw, native.API_VERSION, native.KIND) for raw in own]
    return sorted(documents, key=lambda each: (each.namespace, each.name))


def _document(raw: msgspec.Raw, version: str, kind: str) -> Document:
    """An item of a list, which the API leaves without version and kind where they are its own."""
    versioned = {"apiVersion": version, "kind": kind}
    body = {name: msgspec.Raw(msgspec.json.encode(text)) for name, text in versioned.items()}
    body |= msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    meta = msgspec.json.decode(raw, type=labelled.PodGroup).metadata
    return Document(meta.name, meta.namespace, body)


async def read_group(connection: Connection, namespace: str, name: str, *, native: bool = False) -> Group:
    """One group, without its place; of two that have the name, Kubernetes' own if `native` says so.

    Raises ApiError, NotFound among others.
    """
    asked = Selected(namespace)
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        if native:
            return await _read_native(client, asked, name)
        try:
            reply = await client.get(f"{asked.groups.path}/{name}")
        except NotFound as error:
            try:
                return await _read_native(client, asked, name)
            except (Forbidden, NotFound):
                raise error from None
        pods = asked.pods.path
        found = await asyncio.gather(
            *(list_all(client, Listed(pods, Pod, label_selector=f"{label}={name}")) for label in labelled.GROUP_LABELS)
        )
    group = msgspec.json.decode(reply.body, type=labelled.PodGroup)
    labelled_so = {pod.metadata.uid: pod for some in found for pod in some}.values()
    return with_members(group, [pod for pod in labelled_so if not is_native(pod) and group_of(pod) == group.key])


async def _read_native(client: ApiClient, asked: Selected, name: str) -> Group:
    reply = await client.get(f"{asked.native.path}/{name}")
    group = msgspec.json.decode(reply.body, type=native.PodGroup)
    pods = await list_all(client, asked.pods)
    return native_with_members(group, [pod for pod in pods if is_native(pod) and group_of(pod) == group.key])


async def list_groups(connection: Connection, selected: Selected, *, places: bool) -> list[Group]:
    """The groups by namespace and name; with their `places` if the caller may read groups and pods of all namespaces.

    Raises ApiError.
    """
    async with Transport(connection) as transport:
        view = await _look(ApiClient(transport), selected, places=places)
    return view.groups(lambda listed: view.read.get(listed, ()))


async def follow_groups(
    connection: Connection, selected: Selected, tell: Callable[[Sequence[Group]], None], *, places: bool
) -> None:
    """Tell of all groups, by namespace and name, and again whenever something of them changes, until cancelled.

    Raises ApiError when they cannot be read to begin with.
    """
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        view = await _look(client, selected, places=places)
        changed = _Changed()
        informers = {listed: Informer(client, listed, changed, optional=True) for listed in view.read}

        async def told() -> None:
            for informer in informers.values():
                await informer.synced.wait()
            while True:
                changed.event.clear()
                tell(view.groups(lambda listed: informers[listed].list() if listed in informers else ()))
                await changed.event.wait()
                await asyncio.sleep(_GATHER_SECONDS)

        tasks = [asyncio.ensure_future(work) for work in (told(), *(each.run() for each in informers.values()))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()


@dataclass(frozen=True, slots=True)
class _View:
    """What is read.

    Attributes:
        selected: the groups that are asked for.
        around: the groups and pods that are counted, `selected` among them.
        places: whether these are all that there are.
        read: what could be read, as it was.
    """

    selected: Selected
    around: Selected
    places: bool
    read: dict[Listed[Any], list[Any]]

    def groups(self, get: Callable[[Listed[Any]], Iterable[Any]]) -> list[Group]:
        """The groups that are asked for, of what there is by now."""
        around = self.around
        asked = {(False, each.key) for each in get(self.selected.groups)}
        asked |= {(True, each.key) for each in get(self.selected.native)}
        found = standing(get(around.groups), get(around.native), get(around.pods), get(_COMPOSITES))
        shown = [each if self.places else replace(each, place=0) for each in found if each.id in asked]
        return sorted(shown, key=lambda each: (each.group.metadata.namespace, each.group.metadata.name))


async def _look(client: ApiClient, selected: Selected, *, places: bool) -> _View:
    """Find out what can be read. Raises ApiError where the groups that are asked for cannot."""
    read: dict[Listed[Any], list[Any]] = {}
    await _read(client, read, (selected.native,), Forbidden, NotFound)
    try:
        await _read(client, read, (selected.groups,))
    except NotFound:
        if not read.get(selected.native):
            raise
    if places:
        try:
            everything = dict(read)
            await _read(client, everything, (_EVERYONE.native, _COMPOSITES), NotFound, Forbidden)
            await _read(client, everything, (_EVERYONE.groups,), NotFound)
            await _read(client, everything, (_PODS,))
        except Forbidden:
            pass
        else:
            return _View(selected, _EVERYONE, True, everything)
    if selected.native in read:
        try:
            await _read(client, read, (selected.pods,))
        except Forbidden:
            if read.pop(selected.native):
                raise
    return _View(selected, selected, False, read)


async def _read(
    client: ApiClient, read: dict[Listed[Any], list[Any]], lists: Collection[Listed[Any]], *left_out: type[Exception]
) -> None:
    """Add what these lists hold, less those that fail so."""
    for listed in lists:
        if listed not in read:
            try:
                read[listed] = await list_all(client, listed)
            except left_out:
                continue


class _Changed:
    """Notes that something has changed."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def on_add(self, obj: object) -> None:
        self.event.set()

    def on_update(self, old: object, new: object) -> None:
        self.event.set()

    def on_delete(self, obj: object) -> None:
        self.event.set()
