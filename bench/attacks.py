"""The attacks that `bench.attack` replays: what somebody may create who has one namespace, or reach who has no token.

Each is as large as the API lets it be, or as it was when it stopped everybody's pods.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from bench.client import Client
from bench.scale import SCHEDULER_NAME
from tests.builders import PodDict, make_pod, require

NAMESPACE = "attack"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
GROUPS = f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{NAMESPACE}/podgroups"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
POLICY_BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
_TRUSTING = ssl.create_default_context()
_TRUSTING.check_hostname = False
_TRUSTING.verify_mode = ssl.CERT_NONE


@dataclass(frozen=True)
class Target:
    """Where to attack: the cluster as its administrator, and the port of Muster's pages."""

    client: Client
    port: int


@dataclass(frozen=True)
class Attack:
    """Something to bear. `begin` is a context in which it goes on and after which everything is gone again.

    `look` is asked while it goes on, and answers what is wrong besides; "" for nothing.
    """

    name: str
    begin: Callable[[Target], Any]
    look: Callable[[Target], Awaitable[str]] | None = None


def _posted(*objects: tuple[str, Mapping[str, Any]]) -> Callable[[Target], Any]:
    """Objects that are created one after another and deleted in the end."""

    @asynccontextmanager
    async def begin(target: Target) -> AsyncIterator[None]:
        created: list[str] = []
        try:
            for path, body in objects:
                await target.client.post(path, msgspec.json.encode(body))
                created.append(f"{path}/{body['metadata']['name']}")
            yield
        finally:
            for path in reversed(created):
                await target.client.delete(path)

    return begin


def _pods(name: str, count: int, shape: Callable[[PodDict, int], object]) -> Attack:
    return Attack(name, _posted(*((PODS, _pod(f"evil-{number}", shape, number)) for number in range(count))))


def _pod(name: str, shape: Callable[[PodDict, int], object] = lambda pod, number: None, number: int = 0) -> PodDict:
    pod = make_pod(name, namespace=NAMESPACE).scheduler(SCHEDULER_NAME)
    del pod["metadata"]["uid"]
    shape(pod, number)
    return pod


def _resources(pod: PodDict, number: int) -> None:
    names = {f"example.com/made-up-{number}-{index}": str(index + 1) for index in range(10_000)}
    pod.requests(names).limits(names)


def _required(pod: PodDict, number: int) -> None:
    for index in range(10_000):
        pod.require_nodes(require(f"example.com/own-{number}-{index}", "In", "x"))


def _preferred(pod: PodDict, number: int) -> None:
    for index in range(9_000):
        pod.prefer_nodes(1, require(f"example.com/own-{number}-{index}", "In", "x"))


def _exists(pod: PodDict, number: int) -> None:
    pod.require_nodes(*(require(f"example.com/own-{number}-{index}", "Exists") for index in range(8_000)))


def _bounds(pod: PodDict, number: int) -> None:
    for index in range(10_000):
        pod.require_nodes(require("kubernetes.io/hostname", "Gt", str(10**6 * number + index)))


def _joint(pod: PodDict, number: int) -> None:
    for index in range(4_000):
        host, zone = require("kubernetes.io/hostname", "NotIn", f"n{index}"), require("zone", "NotIn", str(number))
        pod.require_nodes(host, zone)


def _tolerations(pod: PodDict, number: int) -> None:
    for index in range(8_000):
        pod.tolerate(f"example.com/own-{number}-{index}")


def _affinity(pod: PodDict, number: int) -> None:
    for index in range(2_000):
        pod.apart("kubernetes.io/hostname", {f"own-{number}-{index}": "x"})


def _spread(pod: PodDict, number: int) -> None:
    for index in range(2_000):
        pod.spread(f"example.com/own-{index}", {f"own-{number}-{index}": "x"})


def _as_much_as_it_may(pod: PodDict, number: int) -> None:
    """What the limits let through is the most that anybody has to be kept from waiting for."""
    pod.spread("kubernetes.io/hostname", {f"own-{number}": "x"})
    for index in range(31):  # the API takes each key once
        pod.spread(f"example.com/own-{index}", {f"own-{number}-{index}": "x"}, whenUnsatisfiable="ScheduleAnyway")
    for index in range(32):
        pod.apart("kubernetes.io/hostname", {f"own-{number}-{index}": "x"})
    for index in range(2_000):
        pod.require_nodes(require("kubernetes.io/hostname", "NotIn", f"n{number}-{index}"))


def _group(name: str, members: int, **spec: Any) -> tuple[str, dict[str, Any]]:
    head = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    return GROUPS, {**head, "metadata": {"name": name}, "spec": {"minMember": members, **spec}}


def _members(group: str, count: int, **requests: str) -> list[tuple[str, PodDict]]:
    pods = [_pod(f"{group}-{number}").labels({_GROUP_LABEL: group}).requests(requests) for number in range(count)]
    return [(PODS, pod) for pod in pods]


_DENIAL = (
    (
        POLICIES,
        {
            "metadata": {"name": "deny-one"},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE"],
                            "resources": ["pods/binding"],
                        }
                    ]
                },
                "validations": [{"expression": "object.metadata.name != 'denied-1'", "message": "not this one"}],
            },
        },
    ),
    (
        POLICY_BINDINGS,
        {"metadata": {"name": "deny-one"}, "spec": {"policyName": "deny-one", "validationActions": ["Deny"]}},
    ),
)


_POLICY_SECONDS = 5.0
"""The API server takes a moment until it follows a policy."""


@asynccontextmanager
async def _denied(target: Target) -> AsyncIterator[None]:
    async with _posted(*_DENIAL)(target):
        await asyncio.sleep(_POLICY_SECONDS)
        async with _posted(_group("denied", 3), *_members("denied", 3))(target):
            yield


async def _says_who_was_refused(target: Target) -> str:
    found = await target.client.get(f"{GROUPS}/denied")
    told = " ".join(each.get("message", "") for each in found.get("status", {}).get("conditions", ()))
    words = "2 of 3 pods are bound, 1 was refused: attack/denied-1: ", "not this one", "tried again"
    return "" if all(each in told for each in words) else f"the group says: {told!r}"


ROGUE = "Rogue"
ROGUES = f"""
import asyncio, time
from muster.framework.contract import PreBindPlugin, PreEnqueuePlugin, PreFilterPlugin, ReservePlugin, Status

class {ROGUE}(PreEnqueuePlugin, PreFilterPlugin, ReservePlugin, PreBindPlugin):
    name = "{ROGUE}"

    def _act(self, point, pod):
        if pod.labels.get("breaks") == point:
            raise asyncio.CancelledError("a bug")
        if pod.labels.get("stalls") == point:
            time.sleep(0.25)

    def pre_enqueue(self, pod):
        return self._act("preEnqueue", pod)

    def pre_filter(self, state, pod, nodes):
        return self._act("preFilter", pod)

    def reserve(self, state, pod, node_name):
        return self._act("reserve", pod)

    def unreserve(self, state, pod, node_name):
        pass

    def pre_bind_pre_flight(self, state, pod, node_name):
        return None if {{"breaks", "stalls"}} & pod.labels.keys() else Status.skip()

    async def pre_bind(self, state, pod, node_name):
        return self._act("preBind", pod)
"""
"""A plugin that raises, or holds the loop for a quarter of a second, about pods whose label says so."""
_POINTS = "preEnqueue", "preFilter", "reserve", "preBind"


def _rogue(label: str) -> Attack:
    pods = [_pod(f"{label}-{point.lower()}").labels({label: point}) for point in _POINTS]
    return Attack(f"a plugin that {label} at {len(_POINTS)} points", _posted(*((PODS, pod) for pod in pods)))


def _connections(count: int, sent: bytes, *, handshake: bool) -> Callable[[Target], Any]:
    """So many connections that say this and nothing more."""

    @asynccontextmanager
    async def begin(target: Target) -> AsyncIterator[None]:
        async def connect() -> asyncio.StreamWriter | None:
            try:
                context = _TRUSTING if handshake else None
                _, writer = await asyncio.open_connection("127.0.0.1", target.port, ssl=context)
                writer.write(sent)
            except OSError:
                return None
            return writer

        async with AsyncExitStack() as stack:
            for _ in range(count // _AT_ONCE + 1):
                for writer in await asyncio.gather(*(connect() for _ in range(_AT_ONCE))):
                    if writer is not None:
                        stack.callback(writer.transport.abort)
            yield

    return begin


_AT_ONCE = 50

ATTACKS = (
    _pods("10,000 made-up resources, 3 pods", 3, _resources),
    Attack(
        "2,000 made-up names in minResources",
        _posted(
            _group("greedy", 3, minResources={f"example.com/made-up-{n}": "1" for n in range(2_000)}),
            *_members("greedy", 3, cpu="100m"),
        ),
    ),
    _pods("10,000 required terms of own keys, 3 pods", 3, _required),
    _pods("9,000 preferred terms of own keys, 3 pods", 3, _preferred),
    _pods("Exists on 8,000 keys, 3 pods", 3, _exists),
    _pods("10,000 Gt terms, 3 pods", 3, _bounds),
    _pods("4,000 terms of two expressions, 3 pods", 3, _joint),
    _pods("8,000 tolerations, 3 pods", 3, _tolerations),
    _pods("2,000 terms of anti-affinity, 3 pods", 3, _affinity),
    _pods("2,000 spread constraints, 3 pods", 3, _spread),
    _pods("as much as the limits let through, 3 pods", 3, _as_much_as_it_may),
    Attack("a binding of 3 members is denied", _denied, _says_who_was_refused),
    _rogue("breaks"),
    _rogue("stalls"),
    Attack("a gang of 3,000 that does not fit", _posted(_group("huge", 3_000), *_members("huge", 3_000, cpu="64"))),
    Attack("1,001 half-sent requests", _connections(1_001, b"GET /livez HTTP/1.1\r\nHost: x\r\n", handshake=True)),
    Attack("1,001 handshakes that do not begin", _connections(1_001, b"", handshake=False)),
    Attack("1,001 malformed requests", _connections(1_001, b"\x00nonsense\r\n\r\n", handshake=True)),
)
