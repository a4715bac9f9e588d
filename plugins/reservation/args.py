"""Arguments of the Reservation plugin."""

from __future__ import annotations

from collections.abc import Iterator

from muster.framework.contract.arguments import Int64, PluginArgs, Problem, invalid

NAME = "Reservation"
"""The plugin's."""


class ReservationArgs(PluginArgs):
    """When capacity is reserved.

    Attributes:
        after_seconds: how long a pod or group was rejected before capacity is reserved for it; 0 for never.
        most_reservations: how many of them have reservations at a time: the highest priority first, then the
            longest wait.
    """

    after_seconds: Int64 = 300
    most_reservations: Int64 = 4

    def problems(self, path: str) -> Iterator[Problem]:
        """The problems with the values; `path` is where the arguments stand."""
        if self.after_seconds < 0:
            yield invalid(f"{path}.afterSeconds", self.after_seconds, "must be greater than or equal to 0")
        if self.most_reservations < 1:
            yield invalid(f"{path}.mostReservations", self.most_reservations, "must be positive")
