"""Creates the groups that workloads need, and keeps their sizes (see `WorkloadGroups`).

A group is controlled by its workload, so the garbage collector deletes it with the workload; the controller deletes
nothing. A group that the controller created, and whose workload was deleted without it, becomes the group of the next
workload of this name, as its pods do. Any other group of that name stays as it is. While the API refuses a group, the
workload has an Event `FailedCreate`, and the request is repeated every ten seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from muster.framework.contract import GroupKind
from muster.framework.groups.book import GroupBook
from muster.framework.groups.owners import controller_of, group_owner, owner_of_group
from muster.framework.groups.workload_groups import WorkloadGroup, WorkloadGroups
from muster.framework.model.meta import OwnerReference
from muster.operator.kube.client import PatchType
from muster.operator.kube.errors import ApiError, Conflict, Fenced, NotFound
from muster.operator.kube.events import cut_note
from muster.operator.kube.references import ObjectReference
from muster.operator.kube.series import EventKey

from .worker import GroupWorker, WorkerPorts

log = logging.getLogger(__name__)

_LAG_SECONDS = 1.0
"""The time after which the informers have seen what the API has."""
_RETRY_SECONDS = 10.0
_LABELS = {"app.kubernetes.io/managed-by": "muster"}
_TAKEN = "a PodGroup of this name exists that the workload does not control"


class WorkloadGroupController(GroupWorker):
    """The controller of workloads' groups. It creates groups of its first kind that the API serves."""

    def __init__(
        self,
        groups: WorkloadGroups,
        kinds: Sequence[tuple[GroupKind[Any], GroupBook[Any, Any]]],
        ports: WorkerPorts,
    ) -> None:
        """`kinds` are the kinds of groups that a workload may have, each with its book."""
        super().__init__(ports, frozenset())  # a group that is still to be created does not exist
        self._groups = groups
        self._kinds = sorted(kinds, key=lambda each: groups.preference(each[0].objects.group))
        self._reported: dict[str, str] = {}
        groups.subscribe(self._mark)
        for _, book in kinds:
            book.subscribe(self._mark)

    def _mark(self, key: str) -> None:
        """Queue a group that does not exist, has another size than its workload, or is not controlled by it."""
        size = self._groups.size(key)
        found = None if size is None else self._found(key)
        if size is not None and (found is None or found[0].needed(found[1]) != size or not _is_owned(key, found[1])):
            self._enqueue(key, not_before=self._clock.now())

    async def _reconcile(self, key: str) -> None:
        """Create the group if pods wait for it, or change its size."""
        found, size, wanted = self._found(key), self._groups.size(key), self._groups.to_create(key)
        if found is None:
            if wanted is not None:
                await self._create(key, wanted)
            return
        kind, group = found
        if not _is_owned(key, group):
            if wanted is not None:
                await self._take(key, kind, group, wanted.owner)
            return
        controller = controller_of(group.metadata)
        if wanted is not None and controller is not None and controller.uid != wanted.owner.uid:
            return  # the garbage collector is about to delete it; it is created again afterwards
        self._reported.pop(key, None)
        if size is not None and kind.needed(group) != size:
            await self._resize(key, kind, size)

    def _found(self, key: str) -> tuple[GroupKind[Any], Any] | None:
        """The group of this name, of any kind."""
        return next(((kind, group) for kind, book in self._kinds if (group := book.get(key)) is not None), None)

    async def _create(self, key: str, wanted: WorkloadGroup) -> None:
        """Create the group; if the API does not serve its kind, of the next kind."""
        why = ""
        for kind, _ in self._kinds:
            try:
                await self._ports.client.post(_path(kind, key), _encode(document_of(kind, key, wanted)))
            except NotFound as error:
                why = str(error)
                continue
            except (Conflict, Fenced):
                self._enqueue(key, not_before=self._clock.now() + _LAG_SECONDS)
            except ApiError as error:
                self._failed(key, wanted.owner, str(error))
            return
        self._failed(key, wanted.owner, why)

    async def _take(self, key: str, kind: GroupKind[Any], group: Any, owner: OwnerReference) -> None:
        """Make the workload the controller of a group that this controller created and that has no owner any more."""
        meta = group.metadata
        if meta.owner_references or not _LABELS.items() <= meta.labels.items():
            self._failed(key, owner, _TAKEN)
            return
        same = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        try:
            await self._patch(key, kind, {"metadata": {**same, "ownerReferences": [owner]}})
        except (Conflict, Fenced, NotFound):
            self._enqueue(key, not_before=self._clock.now() + _LAG_SECONDS)
        except ApiError as error:
            self._failed(key, owner, str(error))

    async def _patch(self, key: str, kind: GroupKind[Any], body: Mapping[str, Any]) -> None:
        path = f"{_path(kind, key)}/{_name(key)}"
        await self._ports.client.patch(path, _encode(body), kind=PatchType.MERGE)

    async def _resize(self, key: str, kind: GroupKind[Any], size: int) -> None:
        try:
            await self._patch(key, kind, {"spec": kind.spec_for(size)})
        except NotFound:
            return  # the informer will report it
        except Fenced:
            self._enqueue(key, not_before=self._clock.now() + _LAG_SECONDS)
        except ApiError as error:
            log.warning("PodGroup %s: its size cannot be changed to %d: %s", key, size, error)
            self._enqueue(key, not_before=self._clock.now() + (error.retry_after or _RETRY_SECONDS))

    def _failed(self, key: str, owner: OwnerReference, why: str) -> None:
        """Record on the workload why it has no group, and try again later."""
        self._enqueue(key, not_before=self._clock.now() + _RETRY_SECONDS)
        note = f"PodGroup {key} cannot be created: {why}"
        if self._reported.get(key) == note:
            return
        self._reported[key] = note
        log.warning("%s", note)
        namespace = key.partition("/")[0]
        about = ObjectReference(owner.kind, namespace, owner.name, owner.uid, owner.api_version)
        event = EventKey("Warning", "FailedCreate", "Creating", cut_note(note), self._ports.reporter, about, None)
        self._ports.recorder.record(event)


def document_of(kind: GroupKind[Any], key: str, wanted: WorkloadGroup) -> Mapping[str, Any]:
    """The body of a new group of this kind, without its namespace."""
    return {
        "apiVersion": kind.objects.api_version,
        "kind": kind.objects.name,
        "metadata": {"name": _name(key), "labels": _LABELS, "ownerReferences": [wanted.owner]},
        "spec": kind.spec_for(wanted.size, wanted.priority_class_name),
    }


def _is_owned(key: str, group: Any) -> bool:
    """Whether the group of this name is controlled by its workload, or by an earlier workload of the same name."""
    return group_owner(group.metadata) == owner_of_group(key)


def _path(kind: GroupKind[Any], key: str) -> str:
    return f"/apis/{kind.objects.api_version}/namespaces/{key.partition('/')[0]}/{kind.objects.plural}"


def _name(key: str) -> str:
    return key.partition("/")[2]


_encode = msgspec.json.Encoder().encode
