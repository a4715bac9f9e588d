"""Amounts of resources: which names a container may request, with which amounts and limits.

Called for the containers and the overhead of pods and of the templates of workloads, and for what nodes offer. Devices
and other extended resources come in whole numbers and cannot be overcommitted: what is asked for is the limit.
"""

from collections.abc import Iterator

from muster.framework.model.quantity import NANO_PER_UNIT, nanos
from muster.sandbox.errors import FORBIDDEN, INVALID, REQUIRED, InvalidField
from muster.sandbox.objects import Object
from muster.sandbox.rules import syntax

_HUGE_PAGES = "hugepages-"
_CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_COUNTED = (
    *("pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"),
    *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
)
_STANDARD = (
    *_CONTAINER_RESOURCES,
    *_COUNTED,
    *("storage", "requests.storage"),
    *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _CONTAINER_RESOURCES),
)


def validate_requirements(requirements: Object, path: str) -> Iterator[InvalidField]:
    """The problems with the `limits` and `requests` of a container, or with an overhead given as limits."""
    limits, requests = requirements.get("limits") or {}, requirements.get("requests") or {}
    for name, amount in limits.items():
        yield from _amount(name, amount, f"{path}.limits[{name}]")
    for name, amount in requests.items():
        yield from _amount(name, amount, f"{path}.requests[{name}]")
        if name not in limits:
            if not _may_be_overcommitted(name):
                reason = "Limit must be set for non overcommitable resources"
                yield InvalidField(REQUIRED, f"{path}.limits", reason)
        elif nanos(amount) != nanos(limits[name]) and not _may_be_overcommitted(name):
            reason = f"must be equal to {name} limit of {limits[name]}"
            yield InvalidField(INVALID, f"{path}.requests", reason, value=amount)
        elif nanos(amount) > nanos(limits[name]):
            reason = f"must be less than or equal to {name} limit of {limits[name]}"
            yield InvalidField(INVALID, f"{path}.requests", reason, value=amount)
    names = {*limits, *requests}
    if any(name.startswith(_HUGE_PAGES) for name in names) and not names & {"cpu", "memory"}:
        yield InvalidField(FORBIDDEN, path, "HugePages require cpu or memory")


def validate_offer(offer: Object | None, path: str) -> Iterator[InvalidField]:
    """The problems with the amounts that a node reports."""
    for name, amount in (offer or {}).items():
        yield from _whole(name, amount, f"{path}.{name}")


def _amount(name: str, amount: str, path: str) -> Iterator[InvalidField]:
    for reason in syntax.qualified_name(name):
        yield InvalidField(INVALID, path, reason, value=name)
    if "/" not in name:
        if name not in _STANDARD and not name.startswith(_HUGE_PAGES):
            yield InvalidField(INVALID, path, "must be a standard resource type or fully qualified", value=name)
        if name not in _CONTAINER_RESOURCES and not name.startswith(_HUGE_PAGES):
            yield InvalidField(INVALID, path, "must be a standard resource for containers", value=name)
    elif not _is_native(name) and not _is_extended(name):
        yield InvalidField(INVALID, path, "doesn't follow extended resource name standard", value=name)
    yield from _whole(name, amount, path)
    size = name.removeprefix(_HUGE_PAGES)
    if size != name and (nanos(amount) <= 0 or nanos(amount) % nanos(size)):
        yield InvalidField(INVALID, path, f"{amount} is not positive integer multiple of {name}", value=amount)


def _whole(name: str, amount: str, path: str) -> Iterator[InvalidField]:
    if nanos(amount) < 0:
        yield InvalidField(INVALID, path, "must be greater than or equal to 0", value=amount)
    if (name in _COUNTED or _is_extended(name)) and nanos(amount) % NANO_PER_UNIT:
        yield InvalidField(INVALID, path, "must be an integer", value=amount)


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    native = _is_native(name) or name.startswith("requests.")
    return not native and not syntax.qualified_name(f"requests.{name}")


def _may_be_overcommitted(name: str) -> bool:
    return _is_native(name) and not name.startswith(_HUGE_PAGES)
