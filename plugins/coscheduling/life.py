"""What is known of a group from its first member until the last has gone. `Gangs` keeps one for each group."""

from __future__ import annotations

from dataclasses import dataclass

_LONGEST_SETBACK_SECONDS = 10.0


@dataclass(slots=True)
class Life:
    """Times are seconds on the engine's clock.

    Attributes:
        first_seen: when its first member was seen.
        failed: when it last found no place; None while it has not.
        failures: how often it has found none since it last had its quorum.
        told: whether it was said that the quorum is bound.
        fresh: whether a member has come since the group was last tried.
        incomplete: whether it lacked members at the last attempt that do exist.
        short: whether less than its minResources was free at the last look.
        promising: whether something has happened since the last look that makes another one worthwhile.
    """

    first_seen: float
    failed: float | None = None
    failures: int = 0
    told: bool = False
    fresh: bool = False
    incomplete: bool = False
    short: bool = False
    promising: bool = False

    @property
    def setback_seconds(self) -> float:
        """How long members are not called together after the last of so many failures."""
        return min(_LONGEST_SETBACK_SECONDS, 2.0 ** (self.failures - 1)) if self.failures else 0.0

    def tried(self) -> None:
        """It is being tried with the members that are there."""
        self.fresh = self.incomplete = False

    def fail(self, now: float) -> None:
        """It found no place."""
        self.failed = now
        self.failures += 1
        self.promising = True

    def settle(self) -> None:
        """The quorum is there: what failed before is forgotten."""
        self.failed, self.failures = None, 0

    def fall_short(self) -> None:
        """Less than its minResources is free."""
        self.short, self.promising = True, False
