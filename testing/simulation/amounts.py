"""Amounts: what pods ask for and what nodes have, of CPU and devices, as the API says it."""

from __future__ import annotations

from collections.abc import Sequence

from muster.framework.model.quantity import milli_value, nanos
from muster.sandbox.kinds import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from muster.sandbox.objects import Object

from .server import SimulatedServer

_ENDED = ("Succeeded", "Failed")


class Devices:
    """Which devices there are, and which claim has which: (pool, device) by name of the claim."""

    def __init__(self, server: SimulatedServer) -> None:
        slices = [found["spec"] for found in server.objects(RESOURCE_SLICES)]
        self._all = {spec["pool"]["name"]: {each["name"] for each in spec["devices"]} for spec in slices}
        self.given = {
            claim["metadata"]["name"]: (result["pool"], result["device"])
            for claim in server.objects(RESOURCE_CLAIMS)
            for result in ((claim.get("status") or {}).get("allocation") or {}).get("devices", {}).get("results", ())
        }

    def places(self, node: str, pods: Sequence[Object]) -> int | None:
        """How many of these pods find a device each on a node; None where they need none.

        None of them does where one of them has been given one already: that may tie it elsewhere.
        """
        claims = [claim["resourceClaimName"] for pod in pods for claim in pod["spec"].get("resourceClaims") or ()]
        if not claims:
            return None
        if any(claim in self.given for claim in claims):
            return 0
        return len(self._all.get(node, set()) - {device for where, device in self.given.values() if where == node})

    def has(self, node: str, pod: Object) -> bool:
        """Whether a node has what the pod's claims need: a free device for each, or what they were given."""
        claims = [claim["resourceClaimName"] for claim in pod["spec"].get("resourceClaims") or ()]
        given = [self.given[claim][0] for claim in claims if claim in self.given]
        free = self._all.get(node, set()) - {device for where, device in self.given.values() if where == node}
        return all(where == node for where in given) and len(free) >= len(claims) - len(given)


def on_node(server: SimulatedServer, name: str) -> list[Object]:
    """The pods that take room on a node."""
    pods = (pod for pod in server.objects(PODS) if pod["spec"].get("nodeName") == name)
    return [pod for pod in pods if not has_ended(pod)]


def cpu(pod: Object) -> int:
    """What a pod asks for, in thousandths of a CPU."""
    return sum(milli_value(nanos(each["resources"]["requests"]["cpu"])) for each in pod["spec"]["containers"])


def priority(pod: Object) -> int:
    """How important a pod is."""
    found: int = pod["spec"].get("priority") or 0
    return found


def allocatable(node: Object) -> int:
    """What a node has, in thousandths of a CPU."""
    return milli_value(nanos(node["status"]["allocatable"]["cpu"]))


def has_ended(pod: Object) -> bool:
    """Whether it has run to its end, and takes nothing any more."""
    return pod["status"].get("phase") in _ENDED
