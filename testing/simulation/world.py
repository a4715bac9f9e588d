"""The outside world: users, other schedulers, drivers, machines and networks. Carries out the acts of a history.

Objects are changed directly in the API's store. Each act has a method of its name on the actor that it concerns; an act
without a possible object does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from inspect import signature

from muster.sandbox.errors import StatusError
from muster.sandbox.kinds import (
    COMPOSITE_POD_GROUPS,
    DEVICE_CLASSES,
    NATIVE_POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_CLAIMS,
)

from .acts import Act
from .groups import GroupActs
from .holding import HoldActs
from .loop import SimulatedLoop
from .meddling import Meddling
from .members import URGENT
from .nodes import NodeActs
from .owners import Owners
from .passing import AT_ONCE, NAMESPACE, Passing
from .pods import DEVICE, PodActs
from .quotas import QuotaActs
from .replica import Replica
from .server import SimulatedServer
from .streams import Record
from .timing import TimingActs
from .troubles import Troubles

_TOO_LATE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


class World:
    """The actors on a cluster. Their later callbacks belong to an owner of their own.

    Attributes:
        meddling: which groups were changed from outside.
        troubles, passing, owners, nodes, pods, groups, holds, quotas, timing: the actors.
    """

    def __init__(
        self, server: SimulatedServer, replicas: Sequence[Replica], loop: SimulatedLoop, record: Record
    ) -> None:
        self._server = server
        self._store = server.store
        self._record = record
        context = loop.owner("the world").context

        def later(seconds: float, callback: Callable[..., None], *given: object) -> None:
            loop.call_later(seconds, callback, *given, context=context)

        self._later = later
        self.meddling = Meddling(server, loop)
        self.troubles = Troubles(server, replicas, later, self.meddling)
        self.passing = Passing(server, loop, later)
        self.owners = Owners(server, later)
        self.nodes = NodeActs(server, self.meddling, later)
        self.pods = PodActs(server, self.meddling)
        self.groups = GroupActs(server, self.meddling)
        self.holds = HoldActs(server, self.meddling, self.groups, later)
        self.quotas = QuotaActs(server, self.meddling)
        self.timing = TimingActs(server)
        self._store.create(PRIORITY_CLASSES, {"metadata": {"name": URGENT}, "value": 1000})
        self._store.create(DEVICE_CLASSES, {"metadata": {"name": DEVICE}, "spec": {}})

    def expect(self, history: Iterable[Act]) -> None:
        """Schedule all acts at their times, counted from now."""
        for act in history:
            self._later(act.at, self.carry_out, act)

    def carry_out(self, act: Act) -> None:
        """Carry out an act, unless it is too late: its object already exists, no longer exists, or has a node."""
        self._record(f"{act.what} {act.given}")
        actors = (
            self,
            self.troubles,
            self.passing,
            self.owners,
            self.nodes,
            self.pods,
            self.groups,
            self.holds,
            self.quotas,
            self.timing,
        )
        actor = next(each for each in actors if hasattr(each, act.what))
        perform: Callable[..., None] = getattr(actor, act.what)
        try:
            perform(**dict(zip(signature(perform).parameters, act.given, strict=False)))
        except StatusError as error:
            if error.code not in _TOO_LATE:
                raise

    def all_goes(self) -> None:
        """Delete all pods and groups, and the pods' claims."""
        self.owners.owners_go()
        for kind in (PODS, self._server.pod_groups, NATIVE_POD_GROUPS, COMPOSITE_POD_GROUPS):
            for obj in self._server.objects(kind):
                self._store.delete(kind, obj["metadata"]["name"], namespace=NAMESPACE, options=AT_ONCE)
        for claim in self._server.objects(RESOURCE_CLAIMS):
            self._store.replace_stored(RESOURCE_CLAIMS, claim | {"metadata": claim["metadata"] | {"finalizers": []}})
            self._store.delete(RESOURCE_CLAIMS, claim["metadata"]["name"], namespace=NAMESPACE, options=AT_ONCE)
