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
        claims: the claims to allocate, with their indices; the one for extended resources asks for what is needed here.
        mappings: which container's extended resource comes from which of its requests.
        answers: what that comes to on each node; None where nothing is to be allocated.
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
        variant: the claims as they are on this node.
    """

    allocations: dict[int, AllocationResult]
    uids: dict[int, str]
    variant: Variant

    def claim(self, index: int) -> ResourceClaim:
        """The claim as it is on this node. Raises KeyError for one that is not to be allocated."""
        return dict(self.variant.claims)[index]


@dataclass(slots=True)
class Claiming:
    """The allocation of devices to claims in one attempt.

    Attributes:
        claims: the pod's claims in order; that for extended resources, if any, comes last.
        consumers: whom each of them is to be reserved for; it is the pod for the claim for extended resources.
        extended: its index; None when there is none.
        resources: the extended resources that devices may back.
        shared: allocations under way that the pod may go by, by index.
        unavailable: indices of claims whose devices some node could not use.
        plan: set by Reserve.
        written: indices of claims that PreBind wrote.
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
    def has_user_claims(self) -> bool:
        """Whether there are claims besides that for extended resources."""
        return len(self.claims) > (self.extended is not None)

    @property
    def to_allocate(self) -> list[int]:
        """Indices of claims without an allocation, those under way not counted."""
        return [at for at, claim in enumerate(self.claims) if claim.allocation is None and at not in self.shared]

    def allocation(self, index: int) -> AllocationResult | None:
        """The present or coming allocation of a claim, as far as it was decided before this attempt."""
        return self.claims[index].allocation or self.shared.get(index)
