"""The devices of claims that are allocated before anything is measured, without pods and without a scheduler.

scheduler_perf fills clusters so, one claim after another on nodes in random order. The claims that it fills them with
have one request, for a number of devices of a class that selects by driver alone; anything else is refused.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any

from muster.framework.model.quantity import nanos

_Device = tuple[str, str, str]
"""Driver, pool and name."""
_Counters = Mapping[tuple[str, str, str], int]
"""By pool, set and name of a counter, how much of it."""


class AllocationError(Exception):
    """A claim that finds no devices, or asks for more than a number of them; the text says which."""


class Devices:
    """The devices of the nodes, and which of them are taken."""

    def __init__(self, slices: Iterable[Mapping[str, Any]]) -> None:
        """Of those ResourceSlices that belong to one node each."""
        self._nodes: dict[str, list[tuple[_Device, _Counters]]] = {}
        self._left: Counter[tuple[str, str, str]] = Counter()
        for spec in (each["spec"] for each in slices if "nodeName" in each["spec"]):
            pool = spec["pool"]["name"]
            self._left.update(dict(_counters(pool, spec.get("sharedCounters", ()), "name")))
            devices = self._nodes.setdefault(spec["nodeName"], [])
            for device in spec.get("devices", ()):
                consumed = dict(_counters(pool, device.get("consumesCounters", ()), "counterSet"))
                devices.append(((spec["driver"], pool, device["name"]), consumed))

    def take(self, claim: Mapping[str, Any], random: Random) -> dict[str, Any]:
        """The allocation of a claim, whose devices are taken then. Raises `AllocationError`."""
        request, count = _wanted(claim)
        for node in random.sample([*self._nodes], len(self._nodes)):
            for chosen in combinations(self._nodes[node], count):
                used = Counter[tuple[str, str, str]]()
                for _, consumed in chosen:
                    used.update(consumed)
                if all(self._left[counter] >= value for counter, value in used.items()):
                    self._left.subtract(used)
                    self._nodes[node] = [each for each in self._nodes[node] if each not in chosen]
                    return _allocation(request, node, [device for device, _ in chosen])
        raise AllocationError(f"no node has devices for claim {claim['metadata']['name']}")


def _wanted(claim: Mapping[str, Any]) -> tuple[str, int]:
    """The name of the only request, and for how many devices it is."""
    devices = claim["spec"]["devices"]
    requests = devices.get("requests", ())
    exactly = requests[0].get("exactly", {}) if len(requests) == 1 else {}
    if "deviceClassName" not in exactly or devices.get("constraints") or exactly.get("selectors"):
        raise AllocationError(f"claim {claim['metadata']['name']} asks for more than a number of devices")
    return requests[0]["name"], exactly.get("count", 1)


def _counters(pool: str, sets: Sequence[Mapping[str, Any]], named: str) -> Iterator[tuple[tuple[str, str, str], int]]:
    for each in sets:
        for name, counter in each["counters"].items():
            yield (pool, each[named], name), nanos(counter["value"])


def _allocation(request: str, node: str, devices: Sequence[_Device]) -> dict[str, Any]:
    only = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    results = [
        {"request": request, "driver": driver, "pool": pool, "device": device} for driver, pool, device in devices
    ]
    return {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [only]}}
