"""Amounts of CPU and devices that pods request and nodes have, as the API shows them."""

from __future__ import annotations

from collections.abc import Sequence

from muster.framework.model.quantity import milli_value, nanos
from muster.sandbox.kinds import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from muster.sandbox.objects import Object

from .server import SimulatedServer

_ENDED = ("Succeeded", "Failed")


class SimulatedDevices:
    """The devices that exist, and for each claim how many it requests and which it has.

    Attributes:
        given: the devices of each claim that has some, by its name: pairs of pool and device.
    """

    def __init__(self, server: SimulatedServer) -> None:
        slices = [found["spec"] for found in server.objects(RESOURCE_SLICES)]
        self._all = {spec["pool"]["name"]: {each["name"] for each in spec["devices"]} for spec in slices}
        self._asked: dict[str, int] = {}
        self.given: dict[str, list[tuple[str, str]]] = {}
        for claim in server.objects(RESOURCE_CLAIMS):
            name, requests = claim["metadata"]["name"], claim["spec"]["devices"]["requests"]
            self._asked[name] = sum(request["exactly"].get("count", 1) for request in requests)
            allocation = (claim.get("status") or {}).get("allocation")
            if allocation:
                self.given[name] = [(each["pool"], each["device"]) for each in allocation["devices"]["results"]]

    def places(self, node: str, pods: Sequence[Object]) -> int | None:
        """How many of these like pods find their devices on a node; None if they need none.

        None of them does where one of them has been given some already: that may tie it elsewhere.
        """
        claims = [claim for pod in pods for claim in _claims(pod)]
        if not claims:
            return None
        if any(claim in self.given for claim in claims):
            return 0
        return self._free(node) // sum(self._asked[claim] for claim in _claims(pods[0]))

    def has(self, node: str, pod: Object) -> bool:
        """Whether a node has the devices that the pod's claims need or have."""
        claims = _claims(pod)
        tied = all(where == node for claim in claims for where, _ in self.given.get(claim, ()))
        return tied and self._free(node) >= sum(self._asked[claim] for claim in claims if claim not in self.given)

    def lacking(self, node: str, pod: Object) -> list[str]:
        """The claims of a pod that have fewer devices of a node than they request."""
        return [
            claim
            for claim in _claims(pod)
            if [where for where, _ in self.given.get(claim, ())] != [node] * self._asked[claim]
        ]

    def _free(self, node: str) -> int:
        given = {device for devices in self.given.values() for where, device in devices if where == node}
        return len(self._all.get(node, set()) - given)


def _claims(pod: Object) -> list[str]:
    return [claim["resourceClaimName"] for claim in pod["spec"].get("resourceClaims") or ()]


def on_node(server: SimulatedServer, name: str) -> list[Object]:
    """The pods that take capacity on a node."""
    pods = (pod for pod in server.objects(PODS) if pod["spec"].get("nodeName") == name)
    return [pod for pod in pods if not has_ended(pod)]


def cpu(pod: Object) -> int:
    """The request of a pod, in thousandths of a CPU."""
    return sum(milli_value(nanos(each["resources"]["requests"]["cpu"])) for each in pod["spec"]["containers"])


def priority(pod: Object) -> int:
    """The priority of a pod."""
    found: int = pod["spec"].get("priority") or 0
    return found


def allocatable(node: Object) -> int:
    """The allocatable amount of a node, in thousandths of a CPU."""
    return milli_value(nanos(node["status"]["allocatable"]["cpu"]))


def has_ended(pod: Object) -> bool:
    """Whether the pod has ended, and takes no capacity any more."""
    return pod["status"].get("phase") in _ENDED
