"""The attacks that `bench.attack` replays: objects that a user of one namespace may create, and requests without token.

Each attack is as large as the API permits, or as large as it was when it delayed the pods of all users.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from bench.rogues import ROGUE_ATTACKS
from bench.target import NAMESPACE, PODS, Attack, Begin, Target, make_attack_pod, posted
from tests.builders import PodDict, require

GROUPS = f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{NAMESPACE}/podgroups"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
POLICY_BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
_TRUSTING = ssl.create_default_context()
_TRUSTING.check_hostname = False
_TRUSTING.verify_mode = ssl.CERT_NONE


def _pods(name: str, count: int, shape: Callable[[PodDict, int], object]) -> Attack:
    return Attack(name, posted(*((PODS, _shaped(shape, number)) for number in range(count))))


def _shaped(shape: Callable[[PodDict, int], object], number: int) -> PodDict:
    made = make_attack_pod(f"evil-{number}")
    shape(made, number)
    return made


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
    """The largest load that the limits permit, which must not make other pods wait."""
    pod.spread("kubernetes.io/hostname", {f"own-{number}": "x"})
    for index in range(63):  # the API accepts each key once
        pod.spread(f"example.com/own-{index}", {f"own-{number}-{index}": "x"}, whenUnsatisfiable="ScheduleAnyway")
    for index in range(64):
        pod.apart("kubernetes.io/hostname", {f"own-{number}-{index}": "x"})
    for index in range(2_000):
        pod.require_nodes(require("kubernetes.io/hostname", "NotIn", f"n{number}-{index}"))


def _group(name: str, members: int, **spec: Any) -> tuple[str, dict[str, Any]]:
    head = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    return GROUPS, {**head, "metadata": {"name": name}, "spec": {"minMember": members, **spec}}


def _members(group: str, count: int, **requests: str) -> list[tuple[str, PodDict]]:
    pods = [
        make_attack_pod(f"{group}-{number}").labels({_GROUP_LABEL: group}).requests(requests) for number in range(count)
    ]
    return [(PODS, each) for each in pods]


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
"""The time that the API server takes until it enforces a policy."""


@asynccontextmanager
async def _denied(target: Target) -> AsyncIterator[None]:
    async with posted(*_DENIAL)(target):
        await asyncio.sleep(_POLICY_SECONDS)
        async with posted(_group("denied", 3), *_members("denied", 3))(target):
            yield


async def _says_who_was_refused(target: Target) -> str:
    found = await target.client.get(f"{GROUPS}/denied")
    told = " ".join(each.get("message", "") for each in found.get("status", {}).get("conditions", ()))
    words = "2 of 3 pods are bound, 1 was refused: attack/denied-1: ", "not this one", "tried again"
    return "" if all(each in told for each in words) else f"the group says: {told!r}"


def _connections(count: int, sent: bytes, *, handshake: bool) -> Begin:
    """Open `count` connections that send these bytes and nothing more."""

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
        posted(
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
    *ROGUE_ATTACKS,
    Attack("a gang of 3,000 that does not fit", posted(_group("huge", 3_000), *_members("huge", 3_000, cpu="64"))),
    Attack("1,001 half-sent requests", _connections(1_001, b"GET /livez HTTP/1.1\r\nHost: x\r\n", handshake=True)),
    Attack("1,001 handshakes that do not begin", _connections(1_001, b"", handshake=False)),
    Attack("1,001 malformed requests", _connections(1_001, b"\x00nonsense\r\n\r\n", handshake=True)),
)
