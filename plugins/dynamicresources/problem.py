"""The problem: which devices a pod's claims request, in a form that is equal for all pods with equal requests.

Pods from one template have claims of their own with equal specs. The answer for a node is computed once and holds for
all of them, so nothing here names a claim; `AllocationFailure.text` inserts the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from muster.framework.model.devices import (
    ALL,
    EXACT_COUNT,
    DeviceClaim,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from muster.framework.model.quantity import Quantity

from .classes import DeviceClasses


class AllocationFailure(Exception):
    """Raised if a claim or class is invalid, so that the pod cannot be scheduled anywhere.

    Attributes:
        claim: the index of the claim at fault; None for a class.
    """

    def __init__(self, text: str, claim: int | None = None) -> None:
        super().__init__(text)
        self.claim = claim

    def text(self, claims: Sequence[str]) -> str:
        """The text with the claim's name, out of `claims`."""
        return str(self) if self.claim is None else f"claim {claims[self.claim]}{self}"


@dataclass(frozen=True, slots=True)
class Selecting:
    """An expression that devices must meet; errors in it name its class, or its claim if `of_class` is None."""

    expression: str
    index: int
    of_class: str | None


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedRequest:
    """A request without alternatives, or one of the alternatives.

    Attributes:
        name: as results name it, `request` or `request/alternative`.
        request: the request.
        alternative: the name of the alternative, "" for none.
        of_class: the class, None when it does not exist.
        selectors: those of the class, then its own.
    """

    name: str
    request: str
    alternative: str
    of_class: DeviceClass | None
    class_name: str
    selectors: tuple[Selecting, ...]
    mode: str
    count: int
    admin: bool
    tolerations: tuple[DeviceToleration, ...]
    capacity: Mapping[str, Quantity]

    @property
    def own_name(self) -> str:
        """The alternative's name, or the request's."""
        return self.alternative or self.request


@dataclass(frozen=True, slots=True, eq=False)
class ClaimProblem:
    """One claim: for each request the alternatives (one, when it has none), and what the devices must share or not."""

    requests: tuple[tuple[ResolvedRequest, ...], ...]
    constraints: tuple[DeviceConstraint, ...]
    spec: DeviceClaim


@dataclass(frozen=True, slots=True, eq=False)
class AllocationProblem:
    """The claims to be allocated, one after another."""

    claims: tuple[ClaimProblem, ...]


def problem_key(claims: Sequence[DeviceClaim]) -> bytes:
    """Equal for claims that ask for the same."""
    return _encode(claims)


def problem_of(claims: Sequence[DeviceClaim], classes: DeviceClasses) -> AllocationProblem:
    """The problem that these claims pose."""
    return AllocationProblem(tuple(_claim(spec, classes) for spec in claims))


def selector_characters(claims: Iterable[DeviceClaim], most: int) -> int:
    """The total length of the selectors in the claims' requests, counted up to `most`."""
    found = 0
    for claim in claims:
        for request in claim.requests:
            for asked in (request.exactly,) if request.exactly is not None else request.first_available:
                for each in asked.selectors:
                    found += len(each.cel.expression) if each.cel else 0
                    if found > most:
                        return found
    return found


def check_classes(claim: ResourceClaim, classes: DeviceClasses) -> str:
    """Why the claim's requests cannot be allocated anywhere: a class that does not exist; "" for nothing."""
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            named = [(request.name, request.exactly.device_class_name)]
        elif request.first_available:
            named = [(f"{request.name}/{sub.name}", sub.device_class_name) for sub in request.first_available]
        else:
            return f"resource claim {claim.key}, request {request.name}: unknown request type"
        for name, class_name in named:
            if classes.get(class_name) is None:
                return f"request {name}: device class {class_name} does not exist"
    return ""


def _claim(spec: DeviceClaim, classes: DeviceClasses) -> ClaimProblem:
    return ClaimProblem(tuple(_alternatives(each, classes) for each in spec.requests), spec.constraints, spec)


def _alternatives(request: DeviceRequest, classes: DeviceClasses) -> tuple[ResolvedRequest, ...]:
    if request.exactly is not None:
        return (_wanted(request.name, "", request.exactly, classes),)
    return tuple(_wanted(request.name, sub.name, sub, classes) for sub in request.first_available)


def _wanted(request: str, alternative: str, asked: ExactDeviceRequest, classes: DeviceClasses) -> ResolvedRequest:
    of_class = classes.get(asked.device_class_name)
    selectors = [
        Selecting(each.cel.expression if each.cel else "", index, asked.device_class_name)
        for index, each in enumerate(of_class.spec.selectors if of_class else ())
    ]
    selectors += [
        Selecting(each.cel.expression if each.cel else "", index, None) for index, each in enumerate(asked.selectors)
    ]
    return ResolvedRequest(
        name=f"{request}/{alternative}" if alternative else request,
        request=request,
        alternative=alternative,
        of_class=of_class,
        class_name=asked.device_class_name,
        selectors=tuple(selectors),
        mode=asked.allocation_mode or EXACT_COUNT,
        count=asked.count,
        admin=bool(asked.admin_access) and not alternative,
        tolerations=asked.tolerations,
        capacity=asked.capacity.requests if asked.capacity else {},
    )


_encode = msgspec.msgpack.Encoder(order="deterministic").encode

__all__ = [
    "ALL",
    "EXACT_COUNT",
    "AllocationFailure",
    "AllocationProblem",
    "ClaimProblem",
    "ResolvedRequest",
    "Selecting",
    "check_classes",
    "problem_key",
    "problem_of",
    "selector_characters",
]
