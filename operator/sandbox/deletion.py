"""How objects end: at once, after a grace period, or when their finalizers are gone.

Pure: `plan` says what a delete comes to, the store carries it out. Owners and dependents are not looked at; there is no
garbage collector, so every propagation policy is taken as `Background`.
"""

from dataclasses import dataclass

from muster.operator.sandbox import errors
from muster.operator.sandbox.kinds import NAMESPACES, PODS, Kind
from muster.operator.sandbox.ledger import Entry
from muster.operator.sandbox.objects import Object, get_in, metadata, name_of, with_metadata
from muster.operator.sandbox.timestamps import format_time, parse_time

IMMORTAL_NAMESPACES = ("default", "kube-system", "kube-public")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """The parts of `metav1.DeleteOptions` that matter here; `grace` is in seconds, None means the object's own."""

    grace: int | None = None
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False


PLAIN_DELETE = DeleteOptions()


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a delete came to: the last state of the object if `gone`, else the object as it waits for its end."""

    entry: Entry
    gone: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The object to store as being deleted, if any, and whether to remove it (then); neither if all is under way."""

    marked: Object | None = None
    remove: bool = False


def check_preconditions(kind: Kind, obj: Object, options: DeleteOptions) -> None:
    """409 where the options name another incarnation or version; 403 for the namespaces that cannot go."""
    meta = metadata(obj)
    if options.uid and options.uid != meta["uid"]:
        raise _precondition(kind, obj, "UID", options.uid, meta["uid"], "deleted and then recreated")
    if options.resource_version and options.resource_version != meta["resourceVersion"]:
        given, current = options.resource_version, meta["resourceVersion"]
        raise _precondition(kind, obj, "ResourceVersion", given, current, "modified")
    if kind is NAMESPACES and name_of(obj) in IMMORTAL_NAMESPACES:
        raise errors.forbidden(kind, name_of(obj), "this namespace may not be deleted")


def _precondition(kind: Kind, obj: Object, what: str, given: str, current: str, how: str) -> errors.ApiError:
    why = (
        f"the {what} in the precondition ({given}) does not match the {what} in record ({current}). "
        f"The object might have been {how}"
    )
    return errors.conflict(kind, name_of(obj), why, resource=kind.kind)


def plan(kind: Kind, obj: Object, options: DeleteOptions, now: float) -> Plan:
    """What a delete of `obj` at the time `now` (seconds) comes to.

    A pod is marked even if it goes at once: watchers see it being deleted first, and then gone.
    """
    meta = metadata(obj)
    held = bool(meta.get("finalizers")) or kind is NAMESPACES
    grace = _grace(kind, obj, options)
    if meta.get("deletionTimestamp"):
        remaining = meta.get("deletionGracePeriodSeconds") or 0
        if options.grace is None or grace >= remaining:
            return Plan(remove=not held and remaining == 0)
        began = parse_time(meta["deletionTimestamp"]) - remaining
        return Plan(_marked(kind, obj, max(began + grace, now), grace), remove=grace == 0 and not held)
    if kind is not PODS and not held:
        return Plan(remove=True)
    return Plan(_marked(kind, obj, now + grace, grace), remove=grace == 0 and not held)


def _marked(kind: Kind, obj: Object, end: float, grace: int) -> Object:
    generation = metadata(obj).get("generation")
    if generation is not None and not metadata(obj).get("deletionTimestamp"):
        generation += 1
    marked = with_metadata(
        obj, deletionTimestamp=format_time(end), deletionGracePeriodSeconds=grace, generation=generation
    )
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
    """Whether an object that is being deleted has nothing left that holds it."""
    meta = metadata(obj)
    held = meta.get("finalizers") or get_in(obj, ("spec", "finalizers"))
    return bool(meta.get("deletionTimestamp")) and not held and not meta.get("deletionGracePeriodSeconds")
