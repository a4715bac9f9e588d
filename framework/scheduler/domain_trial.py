"""One question for a domain, and the trials that answer it: what `DomainSearch` passes along while it searches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ..contract.status import Status
from ..contract.topology import NoDomain, Topology, rank
from ..model.pod_info import PodInfo
from ..snapshot.view import Rows
from ..work import checkpoint
from .attempt import Attempt


class DomainTrial(Protocol):
    """The result of trying members in a domain."""

    @property
    def placed(self) -> Sequence[Attempt]:
        """The members that fit."""
        ...

    @property
    def error(self) -> Status | None:
        """An ERROR that ends the search."""
        ...


T = TypeVar("T", bound=DomainTrial)
Try = Callable[[], T]
"""Tries the members on the rows that their attempts' states name."""


@dataclass(frozen=True, slots=True)
class Searched(Generic[T]):
    """The result of the search.

    Attributes:
        trial: the trial in the domain that took the group or had an error, else in the domain that came closest.
        no_domain: why no domain took the group, if it needs one.
    """

    trial: T
    no_domain: NoDomain | None = None


@dataclass(frozen=True, slots=True)
class TrialInDomain(Generic[T]):
    """A trial in a domain, and the attempts as they were after it."""

    number: int
    trial: T
    attempts: Sequence[Attempt]

    @property
    def placed(self) -> Sequence[PodInfo]:
        """The members that fit."""
        return tuple(attempt.pod for attempt in self.trial.placed)

    @property
    def possible(self) -> int:
        """How many members fit, or may fit when extenders are asked again."""
        return len(self.trial.placed) + sum(1 for attempt in self.attempts if attempt.state.nodes_to_ask)

    def restore(self, attempts: Sequence[Attempt]) -> T:
        """Restore the attempts to their state after this trial."""
        for attempt, kept in zip(attempts, self.attempts, strict=True):
            attempt.restore(kept)
            checkpoint()
        return self.trial


class DomainQuestion(Generic[T]):
    """The question of one search.

    Attributes:
        topology: the domains in which members have to be together.
        placed: members that already have a node.
        attempts: the attempts to try.
        missing: how many of them must fit.
        try_: tries them on the rows that their states name.
        ranked: the attempts in the order in which slices take them; empty without slices.
        rejectors: plugins that rejected any of them in any domain.
    """

    __slots__ = ("attempts", "missing", "placed", "ranked", "rejectors", "topology", "try_")

    def __init__(
        self, topology: Topology, placed: Sequence[PodInfo], attempts: Sequence[Attempt], missing: int, *, try_: Try[T]
    ) -> None:
        self.topology = topology
        self.placed = placed
        self.attempts = attempts
        self.missing = missing
        self.try_ = try_
        self.ranked: Sequence[Attempt] = ()
        self.rejectors: set[str] = set()

    def try_members(self) -> T:
        """Try the attempts on the rows that their states name, and note the plugins that reject any of them."""
        trial = self.try_()
        for attempt in self.attempts:
            self.rejectors |= attempt.rejectors
            checkpoint()
        return trial

    def leave_out(self) -> None:
        """Note that a domain is not tried, because its computed capacity is too small."""
        for attempt in self.attempts:
            self.rejectors |= attempt.framework.plugins.capacity_names

    def blame(self) -> None:
        """Give all attempts the rejectors of all domains, because an event that helps in any domain may help them."""
        for attempt in self.attempts:
            if attempt.status is not None:
                attempt.rejectors |= self.rejectors
            checkpoint()

    def rank(self) -> None:
        """Compute `ranked` if there are slices."""
        if not self.topology.slice_size:
            return
        ranks = {}
        for attempt in self.attempts:
            ranks[attempt.pod.uid] = rank(attempt.pod)
            checkpoint()
        self.ranked = sorted(self.attempts, key=lambda attempt: ranks[attempt.pod.uid])
        checkpoint()


def restrict_to(attempts: Iterable[Attempt], within: Rows | None) -> None:
    """Restrict these members to the rows `within`; None for all nodes."""
    for attempt in attempts:
        attempt.state.within = within
