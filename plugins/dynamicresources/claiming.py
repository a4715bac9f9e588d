"""Claiming: the state of one attempt's claims, from PreFilter to PreBind. Kept in the cycle state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from muster.framework.model.devices import AllocationResult, ConsumerReference, ResourceClaim

from .answers import OutcomesByRow
from .extended import Mapping


@dataclass(slots=True)
class Variant:
    """The devices to be allocated on nodes that offer the same extended resources by device plugins.

    Attributes:
        claims: the claims to allocate, with their indices; requests for extended resources depend on the node.
        mappings: which container's extended resource comes from which of its requests.
        answers: the outcome on each node; None if nothing is to be allocated.
    """

    claims: Sequence[tuple[int, ResourceClaim]]
    mappings: tuple[Mapping, ...] = ()
    answers: OutcomesByRow | None = None


@dataclass(slots=True)
class ClaimPlan:
    """The decision of Reserve, which PreBind writes.

    Attributes:
        allocations: by index of the claim.
        uids: under which each of them is pending.
        variant: the claims in their form for this node.
    """

    allocations: dict[int, AllocationResult]
    uids: dict[int, str]
    variant: Variant

    def claim(self, index: int) -> ResourceClaim:
        """The claim in its form for this node. Raises KeyError if it is not to be allocated."""
        return dict(self.variant.claims)[index]


@dataclass(slots=True)
class Claiming:
    """The allocation of devices to claims in one attempt.

    Attributes:
        claims: the pod's claims in order, the one for extended resources, if any, last.
        consumers: the consumer that each is to be reserved for; the pod itself for the claim for extended resources.
        extended: the index of the claim for extended resources; None if there is none.
        resources: the extended resources that devices may back.
        shared: pending allocations that the pod may share, by index.
        unavailable: indices of claims whose devices some node could not use.
        plan: set by Reserve.
        written: indices of claims that PreBind wrote, or found reserved for the pod by an earlier process.
    """

    claims: list[ResourceClaim]
    consumers: list[ConsumerReference] = field(default_factory=list)
    extended: int | None = None
    resources: Sequence[str] = ()
    shared: dict[int, AllocationResult] = field(default_factory=dict)
    unavailable: set[int] = field(default_factory=set)
    variants: dict[int, Variant] = field(default_factory=dict)
    plan: ClaimPlan | None = None
    written: set[int] = field(default_factory=set)

    @property
    def extended_claim(self) -> ResourceClaim | None:
        """The claim for extended resources."""
        return None if self.extended is None else self.claims[self.extended]

    @property
    def user_claims(self) -> Sequence[ResourceClaim]:
        """The claims that the pod refers to."""
        return self.claims[: self.extended]

    @property
    def has_user_claims(self) -> bool:
        """Whether there are claims besides that for extended resources."""
        return len(self.claims) > (self.extended is not None)

    @property
    def to_allocate(self) -> list[int]:
        """Indices of claims without an allocation, pending or written."""
        return [at for at, claim in enumerate(self.claims) if claim.allocation is None and at not in self.shared]

    def allocation(self, index: int) -> AllocationResult | None:
        """The written or pending allocation of a claim that was decided before this attempt."""
        return self.claims[index].allocation or self.shared.get(index)
