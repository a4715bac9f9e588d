"""The LimitRanges of a namespace, as the LimitRanger admission plugin applies them to new pods.

`admission` calls both functions: the first sets defaults of containers, the second finds the reason for which the API
server would reject a pod. A LimitRange of a file has not been stored yet, so its own defaults are set here as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from muster.framework.model.quantity import nanos
from muster.framework.model.requests import amount, quantity

Document = Mapping[str, Any]

_OF_CONTAINERS = "Container"
_OF_PODS = "Pod"
_PARTS = ("containers", "initContainers")


def with_limit_defaults(spec: Document, ranges: Iterable[Document]) -> dict[str, Any]:
    """The spec of a pod with the LimitRanges' defaults for amounts that its containers omit."""
    filled = dict(spec)
    for each in ranges:
        items = [_stored(item) for item in _items(each, _OF_CONTAINERS)]
        for part in _PARTS if items else ():
            if filled.get(part):
                filled[part] = [_with_defaults(container, items) for container in filled[part]]
    return filled


def outside_limits(spec: Document, ranges: Iterable[Document]) -> str:
    """The reason for which the API server would reject a pod with its defaults set; "" if it would accept the pod.

    The reason has all violations of the first LimitRange that the pod violates.
    """
    for each in ranges:
        found: list[str] = []
        for item in _items(each, _OF_CONTAINERS):
            for container in (container for part in _PARTS for container in spec.get(part) or ()):
                resources = container.get("resources") or {}
                found += _problems(item, _given(resources, "requests"), _given(resources, "limits"))
        for item in _items(each, _OF_PODS):
            found += _problems(item, _total(spec, "requests"), _total(spec, "limits"))
        problems = [*dict.fromkeys(found)]
        if problems:
            return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    return ""


def _items(limit_range: Document, kind: str) -> list[Document]:
    return [item for item in (limit_range.get("spec") or {}).get("limits") or () if item.get("type") == kind]


def _stored(item: Document) -> dict[str, Any]:
    """The stored item: its default is by default the maximum, its default request the default or the minimum."""
    default = {**_given(item, "max"), **_given(item, "default")}
    request = {**_given(item, "min"), **default, **_given(item, "defaultRequest")}
    return {**item, "default": default, "defaultRequest": request}


def _given(holder: Document, part: str) -> dict[str, Any]:
    """The amounts in a part, without nulls."""
    return {name: value for name, value in (holder.get(part) or {}).items() if value is not None}


def _with_defaults(container: Document, items: Sequence[Document]) -> dict[str, Any]:
    resources = container.get("resources") or {}
    filled = {
        part: {**_merged(items, default), **_given(resources, part)}
        for part, default in (("limits", "default"), ("requests", "defaultRequest"))
    }
    return {**container, "resources": {**resources, **filled}}


def _merged(items: Iterable[Document], part: str) -> dict[str, Any]:
    return {name: value for item in items for name, value in item[part].items()}


def _problems(item: Document, requests: Document, limits: Document) -> Iterator[str]:
    """The violations of an item by a container or a pod, in the API server's words."""
    kind = item["type"]
    for bound, check in _CHECKS.items():
        for name, enforced in sorted(_given(item, bound).items()):
            problem = check(
                f"{name} {_NAMED[bound]} per {kind} is {enforced}", enforced, requests.get(name), limits.get(name)
            )
            if problem:
                yield problem


def _below(bound: str, enforced: Any, request: Any, limit: Any) -> str:
    if request is None:
        return f"minimum {bound}.  No request is specified"
    if nanos(request) < nanos(enforced):
        return f"minimum {bound}, but request is {request}"
    if limit is not None and nanos(limit) < nanos(enforced):
        return f"minimum {bound}, but limit is {limit}"
    return ""


def _above(bound: str, enforced: Any, request: Any, limit: Any) -> str:
    if limit is None:
        return f"maximum {bound}.  No limit is specified"
    if nanos(limit) > nanos(enforced):
        return f"maximum {bound}, but limit is {limit}"
    if request is not None and nanos(request) > nanos(enforced):
        return f"maximum {bound}, but request is {request}"
    return ""


def _out_of_proportion(bound: str, enforced: Any, request: Any, limit: Any) -> str:
    if request is None or not nanos(request):
        return f"{bound}, but no request is specified or request is 0"
    if limit is None or not nanos(limit):
        return f"{bound}, but no limit is specified or limit is 0"
    ratio = nanos(limit) / nanos(request)
    if ratio * nanos("1") > nanos(enforced):
        return f"{bound}, but provided ratio is {ratio:f}"
    return ""


_CHECKS: Mapping[str, Callable[[str, Any, Any, Any], str]] = {
    "min": _below,
    "max": _above,
    "maxLimitRequestRatio": _out_of_proportion,
}
_NAMED = {"min": "usage", "max": "usage", "maxLimitRequestRatio": "max limit to request ratio"}


def _total(spec: Document, part: str) -> dict[str, str]:
    """The requests or limits of a pod: the sum of its containers and sidecars, or an init container's if larger."""
    total, sidecars, first = Counter[str](), Counter[str](), Counter[str]()
    for container in spec.get("containers") or ():
        total.update(_of(container, part))
    for container in spec.get("initContainers") or ():
        own = _of(container, part)
        if container.get("restartPolicy") == "Always":
            total.update(own)
            sidecars.update(own)
            first |= sidecars
        else:
            first |= own + sidecars
    merged = {name: max(total[name], first[name]) for name in {*total, *first}}
    merged |= _of(spec, part)
    return {name: quantity(name, amount(name, nano)) for name, nano in merged.items()}


def _of(holder: Document, part: str) -> Counter[str]:
    given = _given(holder.get("resources") or {}, part)
    return Counter({name: nanos(value) for name, value in given.items()})
