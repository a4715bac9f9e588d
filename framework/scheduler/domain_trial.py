"""One question for a domain, and the trials that answer it: what `DomainSearch` passes along while it searches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

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


T = TypeVar("T", bound=DomainTrial)
Try = Callable[[], T]
"""Try the members where their attempts' states say; yields where other work may be done."""


@dataclass(frozen=True, slots=True)
class Searched(Generic[T]):
    """The result of the search.

    Attributes:
        trial: the trial in the domain that took the group, else in the one that came closest.
        no_domain: why there is none, if the members had to be together in one.
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

    def resume(self, attempts: Sequence[Attempt]) -> T:
        """Have the attempts say again what they said after this trial."""
        for attempt, kept in zip(attempts, self.attempts, strict=True):
            attempt.resume(kept)
            checkpoint()
        return self.trial


class DomainQuestion(Generic[T]):
    """The question of one search.

    Attributes:
        topology: where members have to be together.
        placed: members that hold a node already.
        attempts: those to be tried.
        missing: how many of them must fit.
        try_: tries them where their states say.
        ranked: the attempts in the order in which slices take them; empty where there are no slices.
        rejectors: plugins that turned any of them away in any domain.
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
        """Try them where their states say, and note who turns any of them away."""
        trial = self.try_()
        for attempt in self.attempts:
            self.rejectors |= attempt.rejectors
            checkpoint()
        return trial

    def leave_out(self) -> None:
        """A domain is not tried, for lack of capacity by the count."""
        for attempt in self.attempts:
            self.rejectors |= attempt.framework.plugins.capacity_names

    def blame(self) -> None:
        """No domain took them: an event of any plugin that turned one away in any domain may help them all."""
        for attempt in self.attempts:
            if attempt.status is not None:
                attempt.rejectors |= self.rejectors
            checkpoint()

    def rank(self) -> None:
        """Work out `ranked`, if it is needed."""
        if not self.topology.slice_size:
            return
        ranks = {}
        for attempt in self.attempts:
            ranks[attempt.pod.uid] = rank(attempt.pod)
            checkpoint()
        self.ranked = sorted(self.attempts, key=lambda attempt: ranks[attempt.pod.uid])
        checkpoint()


def hold(attempts: Iterable[Attempt], within: Rows | None) -> None:
    """Have these members tried on the rows `within` alone; None for all nodes."""
    for attempt in attempts:
        attempt.state.within = within
