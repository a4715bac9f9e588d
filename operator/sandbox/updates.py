"""What a write to an existing object may touch, and what the server keeps whatever the client sends."""

from muster.operator.sandbox import errors
from muster.operator.sandbox.kinds import PODS, Kind, stored_as
from muster.operator.sandbox.ledger import Entry
from muster.operator.sandbox.objects import Object, metadata, name_of, with_metadata, without

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


def check_preconditions(kind: Kind, new: Object, current: Entry) -> None:
    """409 where the write names another version or another incarnation of the object than the current one."""
    uid = metadata(new).get("uid")
    if uid and uid != metadata(current.obj)["uid"]:
        raise wrong_uid(kind, current, uid)
    if metadata(new).get("resourceVersion") not in (None, "", str(current.revision)):
        raise errors.modified(kind, name_of(current.obj))


def wrong_uid(kind: Kind, current: Entry, uid: str) -> errors.ApiError:
    """409 for a write that is meant for an object that lived under the same name before."""
    stored = stored_as(kind)
    folder = f"{stored.group}/{stored.resource}" if stored.custom else stored.resource
    why = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{folder}/{current.key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: "
        f"{metadata(current.obj)['uid']}"
    )
    return errors.conflict(kind, name_of(current.obj), why)


def settled(kind: Kind, new: Object, old: Object, subresource: str) -> Object:
    """`new` with what belongs to the server taken from `old`, and limited to the part that the write is about.

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
    """The part of an applied config that the write can set; nobody comes to own the rest."""
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
