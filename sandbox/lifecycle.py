"""Writes to existing objects: which fields a write may change, and how objects are deleted.

A write keeps the server's fields, whatever the client sends. A deletion takes effect at once, after a grace period, or
when the finalizers are gone: `plan` computes which, and the store carries it out. All of this is pure. `controllers`
deletes the dependents of an object.
"""

from dataclasses import dataclass

from muster.framework.model.times import parse_time, rfc3339
from muster.sandbox import errors
from muster.sandbox.kinds import NAMESPACES, PODS
from muster.sandbox.ledger import Entry
from muster.sandbox.objects import Object, get_in, metadata, name_of, with_metadata, without
from muster.sandbox.registry import Kind, stored_as

_KEPT_METADATA = (
    "namespace",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
    "uid",
)
_OUTSIDE_SPEC = ("apiVersion", "kind", "metadata", "status")


def check_update_preconditions(kind: Kind, new: Object, current: Entry) -> None:
    """409 where the write names another version or another incarnation of the object than the current one."""
    uid = metadata(new).get("uid")
    if uid and uid != metadata(current.obj)["uid"]:
        raise wrong_uid(kind, current, uid)
    if metadata(new).get("resourceVersion") not in (None, "", str(current.revision)):
        raise errors.modified(kind, name_of(current.obj))


def wrong_uid(kind: Kind, current: Entry, uid: str) -> errors.StatusError:
    """409 for a write that is meant for an earlier object of the same name."""
    stored = stored_as(kind)
    folder = f"{stored.group}/{stored.resource}" if stored.custom else stored.resource
    why = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{folder}/{current.key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: "
        f"{metadata(current.obj)['uid']}"
    )
    return errors.conflict(kind, name_of(current.obj), why)


def settled(kind: Kind, new: Object, old: Object, subresource: str) -> Object:
    """`new` with the server's fields taken from `old`, and limited to the part that the write may change.

    A change of the object proper counts its generation up.
    """
    new = with_metadata(new, **{field: metadata(old).get(field) for field in _KEPT_METADATA})
    if "managedFields" not in metadata(new):
        new = with_metadata(new, managedFields=metadata(old).get("managedFields"))
    if subresource == "status":
        return _status_only(kind, new, old)
    if "status" in kind.subresources:
        new = _with_status_of(old, new)
    if kind.generation and without(new, *_OUTSIDE_SPEC) != without(old, *_OUTSIDE_SPEC):
        new = with_metadata(new, generation=metadata(old)["generation"] + 1)
    return new


def applied_part(kind: Kind, config: Object, subresource: str) -> Object:
    """The part of an applied config that the write can set; the rest gets no owner."""
    if subresource == "status":
        return {key: value for key, value in config.items() if key in _OUTSIDE_SPEC}
    return without(config, "status") if "status" in kind.subresources else config


def _status_only(kind: Kind, new: Object, old: Object) -> Object:
    if kind.custom:
        kept = with_metadata(old, managedFields=metadata(new).get("managedFields"))
        return _with_status_of(new, kept)
    if kind is PODS:
        new = with_metadata(new, ownerReferences=metadata(old).get("ownerReferences"))
        status = new.get("status") or {}
        if "qosClass" not in status:
            new = new | {"status": status | {"qosClass": old["status"].get("qosClass")}}
    proper = {key: value for key, value in old.items() if key not in ("metadata", "status")}
    return _with_status_of(new, proper | {"metadata": new["metadata"]})


def _with_status_of(source: Object, target: Object) -> Object:
    rest = without(target, "status")
    return rest | {"status": source["status"]} if "status" in source else rest


IMMORTAL_NAMESPACES = ("default", "kube-system", "kube-public")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """The parts of `metav1.DeleteOptions` that matter here; `grace` is in seconds, None means the object's own.

    `orphan` leaves what the object owns behind; all other propagation policies are taken as `Background`.
    """

    grace: int | None = None
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False
    orphan: bool = False


PLAIN_DELETE = DeleteOptions()


@dataclass(frozen=True, slots=True)
class Deletion:
    """The result of a delete: the last state of the object if `gone`, else the object as it waits for its end."""

    entry: Entry
    gone: bool


@dataclass(frozen=True, slots=True)
class DeletionStep:
    """The object to store as being deleted, if any, and whether to remove it then; neither if it has begun."""

    marked: Object | None = None
    remove: bool = False


def check_delete_preconditions(kind: Kind, obj: Object, options: DeleteOptions) -> None:
    """409 where the options name another incarnation or version; 403 for the namespaces that cannot go."""
    meta = metadata(obj)
    if options.uid and options.uid != meta["uid"]:
        raise _precondition(kind, obj, "UID", options.uid, current=meta["uid"], how="deleted and then recreated")
    if options.resource_version and options.resource_version != meta["resourceVersion"]:
        given, current = options.resource_version, meta["resourceVersion"]
        raise _precondition(kind, obj, "ResourceVersion", given, current=current, how="modified")
    if kind is NAMESPACES and name_of(obj) in IMMORTAL_NAMESPACES:
        raise errors.forbidden(kind, name_of(obj), "this namespace may not be deleted")


def _precondition(kind: Kind, obj: Object, what: str, given: str, *, current: str, how: str) -> errors.StatusError:
    why = (
        f"the {what} in the precondition ({given}) does not match the {what} in record ({current}). "
        f"The object might have been {how}"
    )
    return errors.conflict(kind, name_of(obj), why, resource=kind.kind)


def plan(kind: Kind, obj: Object, options: DeleteOptions, now: float) -> DeletionStep:
    """The result of a delete of `obj` at the time `now` (seconds).

    A pod is marked even if it goes at once: watchers see it being deleted first, and then gone.
    """
    meta = metadata(obj)
    held = bool(meta.get("finalizers")) or kind is NAMESPACES
    grace = _grace(kind, obj, options)
    if meta.get("deletionTimestamp"):
        remaining = meta.get("deletionGracePeriodSeconds") or 0
        if options.grace is None or grace >= remaining:
            return DeletionStep(remove=not held and remaining == 0)
        began = parse_time(meta["deletionTimestamp"]) - remaining
        return DeletionStep(_marked(kind, obj, max(began + grace, now), grace), remove=grace == 0 and not held)
    if kind is not PODS and not held:
        return DeletionStep(remove=True)
    return DeletionStep(_marked(kind, obj, now + grace, grace), remove=grace == 0 and not held)


def _marked(kind: Kind, obj: Object, end: float, grace: int) -> Object:
    generation = metadata(obj).get("generation")
    if generation is not None and not metadata(obj).get("deletionTimestamp"):
        generation += 1
    marked = with_metadata(obj, deletionTimestamp=rfc3339(end), deletionGracePeriodSeconds=grace, generation=generation)
    return marked | {"status": obj["status"] | {"phase": "Terminating"}} if kind is NAMESPACES else marked


def _grace(kind: Kind, obj: Object, options: DeleteOptions) -> int:
    """Seconds that an object gets to end by itself; only pods that a node has to stop get any."""
    if kind is not PODS or not get_in(obj, ("spec", "nodeName")):
        return 0
    if get_in(obj, ("status", "phase")) in ("Succeeded", "Failed"):
        return 0
    grace = options.grace if options.grace is not None else obj["spec"].get("terminationGracePeriodSeconds", 0)
    return 1 if grace < 0 else grace


def is_finished(obj: Object) -> bool:
    """Whether an object is being deleted, and no finalizer or grace period holds it."""
    meta = metadata(obj)
    held = meta.get("finalizers") or get_in(obj, ("spec", "finalizers"))
    return bool(meta.get("deletionTimestamp")) and not held and not meta.get("deletionGracePeriodSeconds")
