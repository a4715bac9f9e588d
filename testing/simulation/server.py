"""The API server of a simulation: the sandbox's store and rules, without HTTP.

A request arrives as a whole and is answered at once; when it arrives, and whether its answer does, is up to the
network. Each request is reported to the judge, with its sender and its result. The server also contains kubelets, and
the controllers that free the devices of deleted pods and count for PodDisruptionBudgets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from types import MappingProxyType
from typing import cast
from urllib.parse import parse_qsl, urlsplit

import msgspec
from aiohttp import web

from muster.plugins.capacityscheduling.definition import definition as quota_definition
from muster.plugins.coscheduling.definition import definition as group_definition
from muster.sandbox import Sandbox, selectors
from muster.sandbox.claims import DeviceClaimController
from muster.sandbox.clock import Generators
from muster.sandbox.errors import StatusError
from muster.sandbox.http import Handler
from muster.sandbox.kinds import POD_DISRUPTION_BUDGETS, PODS, RESOURCE_CLAIMS
from muster.sandbox.objects import Object
from muster.sandbox.registry import Kind
from muster.sandbox.requests import target, watch_options
from muster.sandbox.stand_ins import BudgetController, Kubelet
from muster.sandbox.store import ObjectStore
from muster.sandbox.watching import Watch, WatchEvent

from .loop import SimulatedLoop

EPOCH = 1_760_000_000.0
"""The time of day at which a simulated cluster's clocks show 0."""
_LONGEST_START = 2.0
_HEADERS = MappingProxyType({"User-Agent": "muster"})


@dataclass(frozen=True, slots=True)
class Request:
    """A request in the shape of aiohttp's, as far as the sandbox reads it.

    Attributes:
        sender: who sent it.
    """

    sender: str
    method: str
    url: str
    data: bytes | None = None
    content_type: str = "application/json"
    host: str = "simulation"
    headers: Mapping[str, str] = field(default_factory=lambda: _HEADERS)

    @property
    def path(self) -> str:
        """The path without the query."""
        return _parts(self.url)[0]

    @property
    def query(self) -> Mapping[str, str]:
        """The query's parameters."""
        return _parts(self.url)[1]

    @property
    def body_exists(self) -> bool:
        """Whether the request has a body."""
        return self.data is not None

    async def read(self) -> bytes:
        """The body."""
        return self.data or b""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response."""

    status: int
    body: bytes
    retry_after: str | None = None
    date: str | None = None

    @property
    def good(self) -> bool:
        """Whether the request was carried out."""
        return self.status < 300


class SimulatedServer:
    """One API server, with kubelets that start and end pods a moment after a request.

    Attributes:
        store: its objects; the outside world may change them directly.
        pod_groups, elastic_quotas: the kinds that are defined by custom resources.
        on_request: called with each request and its answer.
        on_refusal: called with each request that the weather refuses in the server's place.
    """

    def __init__(self, loop: SimulatedLoop, random: Random) -> None:
        letters = "bcdfghjklmnpqrstvwxz2456789"
        sources = Generators(
            clock=self.wall,
            uid=lambda: f"{random.getrandbits(64):016x}",
            suffix=lambda: "".join(random.choices(letters, k=5)),
        )
        self._loop = loop
        self._random = random
        self._owner = loop.owner("kubelets")
        definitions = [group_definition(), quota_definition()]
        sandbox = Sandbox(definitions, sources=sources, stand_ins=False, native_groups=True)
        self.store: ObjectStore = sandbox.store
        self.on_request: Callable[[Request, Answer], None] = lambda request, answer: None
        self.on_refusal: Callable[[Request], None] = lambda request: None
        pod_groups = self.store.kinds.by_path("scheduling.x-k8s.io", "v1alpha1", "podgroups")
        elastic_quotas = self.store.kinds.by_path("scheduling.x-k8s.io", "v1alpha1", "elasticquotas")
        assert pod_groups is not None
        assert elastic_quotas is not None
        self.pod_groups, self.elastic_quotas = pod_groups, elastic_quotas
        self._handler = Handler(self.store)
        self._kubelet = Kubelet(self.store)
        self._device_claims = DeviceClaimController(self.store)
        self._budgets = BudgetController(self.store)
        self._kubelet_due = False
        self._listening = ExitStack()
        for kind in (PODS, RESOURCE_CLAIMS, POD_DISRUPTION_BUDGETS):
            self._listening.enter_context(self.store.ledger.listening(self._pods_changed, kind))

    def wall(self) -> float:
        """Seconds since the epoch."""
        return EPOCH + self._loop.time()

    def answer(self, request: Request) -> Answer:
        """Carry a request out."""
        answering = self._handler(cast("web.BaseRequest", request))
        try:
            answering.send(None)
        except StopIteration as done:
            response: web.Response = done.value
        else:
            raise AssertionError("the sandbox waits for something")
        body = response.body
        answer = Answer(response.status, body if isinstance(body, bytes) else b"", _retry_after(response))
        self.on_request(request, answer)
        return answer

    def watch(self, request: Request) -> tuple[Kind, Watch]:
        """The watch that a request asks for, and its kind. Raises the sandbox's StatusError."""
        about = target(self.store.kinds, request.path)
        labels, fields = (request.query.get(name, "") for name in ("labelSelector", "fieldSelector"))
        selection = selectors.parse(about.kind, labels=labels, fields=fields)
        options = watch_options(request.query)
        return about.kind, Watch(self.store, about.kind, about.namespace, selection, options=options)

    def objects(self, kind: Kind) -> list[Object]:
        """All objects of a kind, in the order of their keys."""
        return [entry.obj for entry in self.store.ledger.entries(kind)]

    def _pods_changed(self) -> None:
        if not self._kubelet_due:
            self._kubelet_due = True
            delay = self._random.random() * _LONGEST_START
            self._loop.call_later(delay, self._look_after_pods, context=self._owner.context)

    def _look_after_pods(self) -> None:
        self._kubelet_due = False
        self._kubelet.step()
        self._device_claims.step()
        self._budgets.step()


def refused(error: StatusError) -> Answer:
    """The answer that the sandbox gives to a request that it refuses."""
    return Answer(error.code, msgspec.json.encode(error.status()))


def line(event: WatchEvent) -> bytes:
    """An event of a watch on the wire."""
    body = event.entry.whole if event.entry else msgspec.json.encode(event.obj)
    return b'{"type":"%b","object":%b}\n' % (event.type.encode(), body)


@lru_cache(maxsize=1024)
def _parts(url: str) -> tuple[str, Mapping[str, str]]:
    """The path and the parameters of a URL, cached, as the same few dozen recur."""
    parts = urlsplit(url)
    return parts.path, MappingProxyType(dict(parse_qsl(parts.query, keep_blank_values=True)))


def _retry_after(response: web.Response) -> str | None:
    return response.headers.get("Retry-After")
