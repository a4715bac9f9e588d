"""Which devices a pod's claims get: the first that do, in a fixed order, as kube-scheduler picks them."""

from typing import Any

import pytest

from tests.builders import make_node
from tests.dynamicresources.objects import (
    GPU,
    NIC,
    Object,
    Version,
    all_of,
    allocated,
    claiming_pod,
    device,
    exactly,
    first_of,
    make_claim,
    make_class,
    make_slice,
)
from tests.dynamicresources.world import Picked, allocated_to, decide, engine, refusals, reported

GPU_CLASS = make_class("gpu", f"device.driver == '{GPU}'")
NIC_CLASS = make_class("nic", f"device.driver == '{NIC}'")
ONE = make_node("one")
POD = claiming_pod("user", "wanted")


def attribute(name: str) -> str:
    return f"device.attributes['{GPU}'].{name}"


def gpus(*devices: Object, **more: Any) -> Object:
    return make_slice("gpus", *devices, node="one", **more)


def picked(*objects: Object) -> list[Picked]:
    return allocated_to(POD, GPU_CLASS, NIC_CLASS, *objects, nodes=[ONE]).get("wanted", [])


A, B, C = device("a"), device("b"), device("c")
SLOTS = [device("a", slot=1), device("b", slot=2), device("c", slot=1), device("d", slot=2)]


CASES: dict[str, tuple[list[Object], list[Object], dict[str, Any], list[Picked]]] = {
    # requests, slices, the rest of the claim's devices, and what is picked
    "devices are tried in the order of the slice": (
        [exactly(2)],
        [gpus(B, A, C)],
        {},
        [("r0", "one", "b"), ("r0", "one", "a")],
    ),
    "slices are tried in the order of their names": (
        [exactly(1)],
        [make_slice("z", A, node="one", pool="p", count=2), make_slice("y", B, node="one", pool="p", count=2)],
        {},
        [("r0", "p", "b")],
    ),
    "pools are tried in the order of driver and name": (
        [exactly(1)],
        [make_slice("s1", A, node="one", pool="p2"), make_slice("s2", B, node="one", pool="p1")],
        {},
        [("r0", "p1", "b")],
    ),
    "a request does not take what another has": (
        [exactly(1), exactly(1)],
        [gpus(A, B)],
        {},
        [("r0", "one", "a"), ("r1", "one", "b")],
    ),
    "an early request gives way to a later one": (
        [exactly(1), exactly(1, f"{attribute('big')}")],
        [gpus(device("a", big=True), device("b", big=False))],
        {},
        [("r0", "one", "b"), ("r1", "one", "a")],
    ),
    "all means every device of the class": (
        [all_of()],
        [gpus(A, B), make_slice("nics", C, node="one", driver=NIC)],
        {},
        [("r0", "one", "a"), ("r0", "one", "b")],
    ),
    "all is at least one": ([all_of("nic")], [gpus(A)], {}, []),
    "selectors are those of class and request": (
        [exactly(1, f"{attribute('size')} > 10", f"{attribute('model')}.startsWith('b')")],
        [gpus(device("a", size=20, model="a1"), device("b", size=5, model="b1"), device("c", size=20, model="b1"))],
        {},
        [("r0", "one", "c")],
    ),
    "versions are compared as such": (
        [exactly(1, f"{attribute('driver')}.isGreaterThan(semver('1.9.0'))")],
        [gpus(device("a", driver=Version("1.9.0")), device("b", driver=Version("1.10.0")))],
        {},
        [("r0", "one", "b")],
    ),
    "capacities are quantities": (
        [exactly(1, f"device.capacity['{GPU}'].memory.compareTo(quantity('40Gi')) >= 0")],
        [gpus(device("a", capacity={"memory": "40000Mi"}), device("b", capacity={"memory": "40960Mi"}))],
        {},
        [("r0", "one", "b")],
    ),
    "the first alternative that can be had is taken": (
        [first_of(exactly(3), exactly(2), exactly(1))],
        [gpus(A, B)],
        {},
        [("r0/s1", "one", "a"), ("r0/s1", "one", "b")],
    ),
    "an alternative is left where a later request would go short": (
        [first_of(exactly(2), exactly(1)), exactly(1)],
        [gpus(A, B)],
        {},
        [("r0/s1", "one", "a"), ("r1", "one", "b")],
    ),
    "devices match in an attribute": (
        [exactly(2)],
        [gpus(*SLOTS)],
        {"constraints": [{"matchAttribute": f"{GPU}/slot"}]},
        [("r0", "one", "a"), ("r0", "one", "c")],
    ),
    "a constraint concerns the requests that it names": (
        [exactly(1), exactly(1), exactly(1)],
        [gpus(*SLOTS)],
        {"constraints": [{"matchAttribute": f"{GPU}/slot", "requests": ["r0", "r2"]}]},
        [("r0", "one", "a"), ("r1", "one", "b"), ("r2", "one", "c")],
    ),
    "devices differ in an attribute": (
        [exactly(2)],
        [gpus(device("a", slot=1), device("b", slot=1), device("c", slot=2))],
        {"constraints": [{"distinctAttribute": f"{GPU}/slot"}]},
        [("r0", "one", "a"), ("r0", "one", "c")],
    ),
    "a device without the attribute cannot match": (
        [exactly(1)],
        [gpus(A)],
        {"constraints": [{"matchAttribute": f"{GPU}/slot"}]},
        [],
    ),
    "a tainted device is for who tolerates it": (
        [exactly(1), exactly(1, tolerations=[{"key": "broken", "operator": "Exists"}])],
        [gpus(A | {"taints": [{"key": "broken", "effect": "NoSchedule"}]}, B)],
        {},
        [("r0", "one", "b"), ("r1", "one", "a")],
    ),
    "a taint of no effect is none": (
        [exactly(1)],
        [gpus(A | {"taints": [{"key": "broken", "effect": "None"}]})],
        {},
        [("r0", "one", "a")],
    ),
    "the newest generation counts": (
        [exactly(1)],
        [gpus(A, generation=1), make_slice("newer", B, node="one", generation=2)],
        {},
        [("r0", "one", "b")],
    ),
    "nothing is taken from a pool while slices are missing": ([exactly(1)], [gpus(A, count=2)], {}, []),
    "pools with binding conditions come last": (
        [exactly(1)],
        [
            make_slice("s1", A | {"bindingConditions": ["attached"]}, node="one", pool="p1"),
            make_slice("s2", B, node="one", pool="p2"),
        ],
        {},
        [("r0", "p2", "b")],
    ),
    "a slice may be for all nodes": ([exactly(1)], [make_slice("net", A, allNodes=True)], {}, [("r0", "net", "a")]),
    "a slice may be for nodes with a label": (
        [exactly(1)],
        [
            make_slice(
                "off",
                A,
                nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "Exists"}]}]},
            ),
            make_slice(
                "on",
                B,
                nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}]},
            ),
        ],
        {},
        [("r0", "on", "b")],
    ),
    "devices may select nodes one by one": (
        [exactly(1)],
        [make_slice("net", A | {"nodeName": "two"}, B | {"nodeName": "one"}, perDeviceNodeSelection=True)],
        {},
        [("r0", "net", "b")],
    ),
    "devices that share counters go as far as these last": (
        [exactly(2)],
        [
            gpus(
                A | {"consumesCounters": [{"counterSet": "memory", "counters": {"size": {"value": "3Gi"}}}]},
                B | {"consumesCounters": [{"counterSet": "memory", "counters": {"size": {"value": "2Gi"}}}]},
                C | {"consumesCounters": [{"counterSet": "memory", "counters": {"size": {"value": "1Gi"}}}]},
                count=2,
            ),
            make_slice(
                "shared",
                node="one",
                pool="one",
                count=2,
                sharedCounters=[{"name": "memory", "counters": {"size": {"value": "4Gi"}}}],
            ),
        ],
        {},
        [("r0", "one", "a"), ("r0", "one", "c")],
    ),
    "a pool that contradicts itself gives nothing": ([exactly(1)], [gpus(A, A)], {}, []),
}


@pytest.mark.parametrize("case", CASES)
def test_the_claim_gets(case: str) -> None:
    requests, slices, more, expected = CASES[case]
    claim = make_claim("wanted", *requests)
    claim["spec"]["devices"] |= more
    assert picked(claim, *slices) == expected


TAKEN: dict[str, tuple[Object, list[Picked]]] = {
    "devices of other claims are left alone": (
        allocated(make_claim("other", exactly(1)), (GPU, "one", "a"), node="one"),
        [("r0", "one", "b")],
    ),
    "a device used for administration is not taken": (
        allocated(make_claim("other", exactly(1)), (GPU, "one", "a"), node="one", admin=True),
        [("r0", "one", "a")],
    ),
    "a device of another pool with the same name is another device": (
        allocated(make_claim("other", exactly(1)), (GPU, "two", "a"), node="two"),
        [("r0", "one", "a")],
    ),
}


@pytest.mark.parametrize("case", TAKEN)
def test_devices_that_are_allocated_already_count(case: str) -> None:
    other, expected = TAKEN[case]
    assert picked(make_claim("wanted", exactly(1)), gpus(A, B), other) == expected


def test_administration_shares_devices_that_are_taken() -> None:
    other = allocated(make_claim("other", exactly(1)), (GPU, "one", "a"), node="one")
    claim = make_claim("wanted", exactly(1, adminAccess=True))
    assert picked(claim, gpus(A), other) == [("r0", "one", "a")]


def test_a_rule_taints_devices_that_were_published_without() -> None:
    rule = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "broken"},
        "spec": {
            "deviceSelector": {"driver": GPU, "device": "a"},
            "taint": {"key": "broken", "effect": "NoExecute"},
        },
    }
    assert picked(make_claim("wanted", exactly(1)), gpus(A, B), rule) == [("r0", "one", "b")]


SHARES = {"allowMultipleAllocations": True}
POLICY = {"default": "1Gi", "validRange": {"min": "1Gi", "max": "6Gi", "step": "2Gi"}}


@pytest.mark.parametrize(
    ("asked", "policy", "left", "fits"),
    [
        ("4Gi", None, "4Gi", True),
        ("5Gi", None, "4Gi", False),
        ("2Gi", POLICY, "3Gi", True),
        ("2Gi", POLICY, "2Gi", False),
        ("7Gi", POLICY, "9Gi", False),
        (None, POLICY, "1Gi", True),
        (None, None, "10Gi", True),
        (None, None, "9Gi", False),
    ],
    ids=[
        "asked and left",
        "more than left",
        "rounded up",
        "rounded up too far",
        "above range",
        "default",
        "all",
        "not all",
    ],
)
def test_shares_of_a_device_take_what_is_left(asked: str | None, policy: Object | None, left: str, fits: bool) -> None:
    used = {"10Gi": "0", "9Gi": "1Gi", "4Gi": "6Gi", "3Gi": "7Gi", "2Gi": "8Gi", "1Gi": "9Gi"}[left]
    capacity = {"memory": {"value": "10Gi"} | ({"requestPolicy": policy} if policy else {})}
    other = allocated(make_claim("other", exactly(1)), (GPU, "one", "a"), share={"memory": used})
    amounts = {"capacity": {"requests": {"memory": asked}}} if asked else {}
    claim = make_claim("wanted", exactly(1) | amounts)
    found = picked(claim, gpus(A | SHARES | {"capacity": capacity}), other)
    assert found == ([("r0", "one", "a")] if fits else [])


def test_early_alternatives_score_higher_on_other_nodes() -> None:
    claim = make_claim("wanted", first_of(exactly(2), exactly(1)))
    slices = [make_slice("s1", A, node="one"), make_slice("s2", A, B, node="two")]
    scores = decide(POD, GPU_CLASS, claim, *slices).scores
    assert {name: plugins["DynamicResources"] for name, plugins in scores.items()} == {"one": 2 * 87, "two": 2 * 100}


ERRORS = {
    "a key that is not there": (
        exactly(1, f"{attribute('nosuch')} == 'x'"),
        f"claim default/wanted: selector #0 on device {GPU}/one/a: CEL runtime error: no such key: nosuch. consider "
        "using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields",
    ),
    "no expression": (
        exactly(1, "device.nosuch == 'x'"),
        "claim default/wanted: selector #0: CEL compile error: undefined field 'nosuch'",
    ),
    "more devices than a claim may have": (
        exactly(33),
        "claim default/wanted, request r0: adding 33 devices exceeds the claim limit of 32, "
        "with 0 already accounted for",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_a_claim_that_is_wrong_in_itself_is_an_error(case: str) -> None:
    request, text = ERRORS[case]
    found = decide(POD, GPU_CLASS, gpus(A), make_claim("wanted", request), nodes=[ONE])
    assert found.message == f'running "DynamicResources" filter plugin: {text}'


def test_all_devices_are_not_known_while_a_pool_is_being_updated() -> None:
    found = decide(POD, GPU_CLASS, gpus(A, count=2), make_claim("wanted", all_of()), nodes=[ONE])
    text = f"request r0: asks for all devices, but resource pool {GPU}/one is currently being updated"
    assert text in found.message


def test_a_request_for_all_devices_names_the_device_alone_whose_capacity_cannot_be_checked() -> None:
    policy = {"default": "1", "validRange": {"min": "500m", "step": "500m"}}
    shared = A | SHARES | {"capacity": {"cores": {"value": "2", "requestPolicy": policy}}}
    requests = {"capacity": {"requests": {"cores": "1.0001"}}}
    texts = [
        decide(POD, GPU_CLASS, gpus(shared), make_claim("wanted", request | requests), nodes=[ONE]).message
        for request in (all_of(), exactly(1))
    ]
    assert ["checking capacity for device a: " in text for text in texts] == [True, False]
    assert f"checking capacity for device {GPU}/one/a: " in texts[1]


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [(("one", 1), ("two", 2), []), (("two", 3), ("one", 2), ["two"]), (("two", 2), ("one", 3), ["one"])],
)
def test_a_node_goes_by_the_number_of_slices_in_its_own_slice_of_a_pool(
    first: tuple[str, int], second: tuple[str, int], refused: list[str]
) -> None:
    slices = [make_slice(f"s{node}", A, node=node, pool="p", count=count) for node, count in (first, second)]
    found = refusals(POD, GPU_CLASS, *slices, make_claim("wanted", exactly(1)))
    assert found == dict.fromkeys(refused, "cannot allocate all claims")


def test_a_node_without_enough_devices_says_so() -> None:
    slices = [make_slice("s1", A, node="one"), make_slice("s2", A, B, node="two")]
    assert refusals(POD, GPU_CLASS, *slices, make_claim("wanted", exactly(2))) == {"one": "cannot allocate all claims"}


def test_a_pool_that_contradicts_itself_is_named_as_the_reason() -> None:
    found = refusals(POD, GPU_CLASS, gpus(A, A), make_claim("wanted", exactly(1)), nodes=[ONE])
    assert found == {"one": "invalid resource pools were encountered"}


def test_a_trial_that_reserves_devices_leaves_all_of_them_to_the_next() -> None:
    wanted = [make_claim(f"claim-{number}", exactly(2)) for number in range(3)]
    world = engine(GPU_CLASS, gpus(A, B, C), *wanted, nodes=[ONE])
    pods = [claiming_pod(f"user-{number}", f"claim-{number}") for number in range(3)]
    first = [reported(world, pod).planned for pod in pods]
    again = [reported(world, pod).planned for pod in reversed(pods)]
    assert len(first) == 3
    assert all(plan["allocation"]["claims"] for plan in first)
    assert again == first[::-1]
    assert len({str([*plan["allocation"]["claims"].values()]) for plan in first}) == 1
