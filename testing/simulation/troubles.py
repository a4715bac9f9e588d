"""Faults of processes, machines and networks: the acts of a history that need no object of the API."""

from __future__ import annotations

from collections.abc import Sequence

from .acts import CallLater
from .meddling import Meddling
from .network import CALM, SimulatedTransport, Weather
from .replica import Replica
from .server import SimulatedServer


class Troubles:
    """Causes faults of the `replicas` of a cluster."""

    def __init__(
        self, server: SimulatedServer, replicas: Sequence[Replica], later: CallLater, meddling: Meddling
    ) -> None:
        self._store = server.store
        self._replicas = replicas
        self._later = later
        self._meddling = meddling

    def calm_down(self) -> None:
        """End all faults."""
        for replica in self._replicas:
            replica.weather = CALM
            replica.transport.silent = False
            replica.slow(0.0)
            replica.go_on()

    def weather_turns(self, whose: float, seconds: float, what: tuple[tuple[str, float], ...], about: str) -> None:
        for replica in self._replicas if whose >= 1.0 else (self._replica(whose),):
            replica.weather = Weather(**dict(what), about=about)  # type: ignore[arg-type]  # `shut` is a bool

            def clears(replica: Replica = replica) -> None:
                replica.weather = CALM

            self._later(seconds, clears)

    def watches_break(self, pick: float) -> None:
        self._replica(pick).transport.cut()

    def watches_fall_silent(self, pick: float) -> None:
        self._fall_silent(self._replica(pick).transport)

    def _fall_silent(self, transport: SimulatedTransport) -> None:
        transport.fall_silent()
        self._meddling.goes_unnoticed()

    def history_is_forgotten(self) -> None:
        """Compact the API's history, so that all watches have to be opened again."""
        self._store.forget()
        for replica in self._replicas:
            replica.transport.cut()

    def cable_is_pulled(self, pick: float, seconds: float) -> None:
        transport = self._replica(pick).transport
        transport.silent = True
        self._fall_silent(transport)

        def mended() -> None:
            transport.silent = False

        self._later(seconds, mended)

    def process_stands(self, pick: float, seconds: float) -> None:
        replica = self._replica(pick)
        replica.stop()
        self._later(seconds, replica.go_on)

    def process_is_slow(self, pick: float, seconds: float) -> None:
        replica = self._replica(pick)
        replica.slow(0.002)
        self._later(seconds, replica.slow, 0.0)

    def process_is_killed(self, pick: float) -> None:
        self._replica(pick).kill()

    def process_is_ended(self, pick: float) -> None:
        self._replica(pick).end()

    def leader_is_killed(self) -> None:
        for replica in self._leaders():
            replica.kill()

    def leader_is_ended(self) -> None:
        for replica in self._leaders():
            replica.end()

    def leader_stands(self, seconds: float) -> None:
        for replica in self._leaders():
            replica.stop()
            self._later(seconds, replica.go_on)

    def standbys_miss_much(self) -> None:
        """Their watches fall silent, and then they have to lead."""
        leaders = self._leaders()
        for replica in self._replicas:
            if replica not in leaders:
                replica.transport.fall_silent()
        self._later(4.0, self.leader_is_killed)

    def clock_jumps(self, pick: float, seconds: float) -> None:
        self._replica(pick).jump += seconds

    def _replica(self, pick: float) -> Replica:
        return self._replicas[int(pick * len(self._replicas))]

    def _leaders(self) -> list[Replica]:
        return [replica for replica in self._replicas if replica.leads]
