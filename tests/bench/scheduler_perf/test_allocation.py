"""Claims are given devices that nobody else has, and no more of a node than its counters bear."""

from random import Random
from typing import Any

import pytest

from bench.scheduler_perf.allocation import AllocationError, Devices


def a_claim(count: int = 1, **more: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu", "count": count, **more}
    return {"metadata": {"name": "claim"}, "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}


def a_slice(node: str, *devices: str, **more: Any) -> dict[str, Any]:
    made = [{"name": name} for name in devices]
    return {"spec": {"driver": "d", "pool": {"name": f"pool-{node}"}, "nodeName": node, "devices": made, **more}}


def memory(amount: str) -> list[dict[str, Any]]:
    return [{"counterSet": "set", "counters": {"memory": {"value": amount}}}]


def test_every_device_is_given_once_and_the_claim_says_on_which_node() -> None:
    devices, random = Devices([a_slice("a", "one", "two"), a_slice("b", "one")]), Random(0)
    given = [devices.take(a_claim(), random) for _ in range(3)]

    results = [each["devices"]["results"][0] for each in given]
    assert sorted((each["pool"], each["device"]) for each in results) == [
        ("pool-a", "one"),
        ("pool-a", "two"),
        ("pool-b", "one"),
    ]
    for result, each in zip(results, given, strict=True):
        [term] = each["nodeSelector"]["nodeSelectorTerms"]
        assert term["matchFields"][0]["values"] == [result["pool"].removeprefix("pool-")]
        assert (result["request"], result["driver"]) == ("r", "d")
    with pytest.raises(AllocationError, match="no node has devices for claim claim"):
        devices.take(a_claim(), random)


def test_devices_are_combined_so_that_the_counters_bear_them() -> None:
    counters = {"name": "set", "counters": memory("2Gi")[0]["counters"]}
    sizes = {"large": "2Gi", "x": "1Gi", "y": "1Gi"}
    parts = [{"name": name, "consumesCounters": memory(amount)} for name, amount in sizes.items()]
    partitions = a_slice("a")
    partitions["spec"]["devices"] = parts
    devices = Devices([a_slice("a", sharedCounters=[counters]), partitions])

    given = devices.take(a_claim(2), Random(0))

    assert [each["device"] for each in given["devices"]["results"]] == ["x", "y"]
    with pytest.raises(AllocationError, match="no node has devices"):
        devices.take(a_claim(1), Random(0))


def test_devices_that_belong_to_no_single_node_are_not_given() -> None:
    network = a_slice("a", "one")
    del network["spec"]["nodeName"]
    with pytest.raises(AllocationError, match="no node has devices"):
        Devices([network]).take(a_claim(), Random(0))


@pytest.mark.parametrize(
    "claim",
    [
        a_claim(selectors=[{"cel": {"expression": "true"}}]),
        {"metadata": {"name": "claim"}, "spec": {"devices": {"requests": [{"name": "r", "firstAvailable": []}]}}},
        {"metadata": {"name": "claim"}, "spec": {"devices": {}}},
    ],
    ids=["selector", "alternatives", "nothing"],
)
def test_a_claim_for_more_than_a_number_of_devices_is_refused(claim: dict[str, Any]) -> None:
    with pytest.raises(AllocationError, match="claim claim asks for more than a number of devices"):
        Devices([a_slice("a", "one")]).take(claim, Random(0))
