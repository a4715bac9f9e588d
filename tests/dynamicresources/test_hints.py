"""Queueing hints: which changes bring a pod back that waits for devices. The rows are kube-scheduler's."""

from typing import Any

import msgspec
import pytest

from muster.framework.contract import Action, EventResource, Hint
from muster.framework.model.devices import ResourceClaim
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from tests.builders import PodDict, make_node, make_pod
from tests.dynamicresources.bench import Bench
from tests.dynamicresources.objects import GPU, Object, allocated, claiming_pod, exactly, make_claim

CLAIM = make_claim("wanted", exactly(1))
OTHER = make_claim("other", exactly(1))
HELD = allocated(OTHER, (GPU, "one", "a"))
MINE = allocated(CLAIM, (GPU, "one", "a"))
LABELLED = CLAIM | {"metadata": CLAIM["metadata"] | {"finalizers": ["x"]}}
POD = claiming_pod("user", "wanted")

ROWS: dict[str, tuple[PodDict, list[Object], Object | None, Object | None, Hint]] = {
    # the pod, claims that are there, the claim before and after, whether that helps
    "its claim comes": (POD, [CLAIM], None, CLAIM, Hint.QUEUE),
    "another claim comes": (POD, [CLAIM], None, OTHER, Hint.SKIP),
    "its claim comes and another is missing": (
        claiming_pod("user", "wanted", "missing"),
        [CLAIM],
        None,
        CLAIM,
        Hint.SKIP,
    ),
    "the status of its claim changes": (POD, [CLAIM], CLAIM, MINE, Hint.QUEUE),
    "something else of its claim changes": (POD, [CLAIM], CLAIM, LABELLED, Hint.SKIP),
    "another claim is allocated": (POD, [CLAIM], OTHER, HELD, Hint.SKIP),
    "another claim gives its devices back": (POD, [CLAIM], HELD, OTHER, Hint.QUEUE),
    "another claim gives its devices back, but its own is missing": (POD, [], HELD, OTHER, Hint.SKIP),
    "a claim goes with devices": (POD, [CLAIM], HELD, None, Hint.QUEUE),
    "a claim goes without devices": (POD, [CLAIM], OTHER, None, Hint.SKIP),
}


def hint(world: Bench, resource: str) -> Any:
    [found] = [each.hint for each in world.plugin.events_to_register() if each.event.resource == resource]
    return found


def claim(found: Object | None) -> ResourceClaim | None:
    return None if found is None else msgspec.convert(found, ResourceClaim)


@pytest.mark.parametrize("row", ROWS)
def test_a_hint_wakes_the_pod_for_the_changes_of_claims_that_help_it(row: str) -> None:
    pod, there, old, new, expected = ROWS[row]
    world = Bench(make_node("one"))
    world.put(*there)
    info = PodInfo(msgspec.convert(pod, Pod))
    assert hint(world, EventResource.RESOURCE_CLAIM)(info, claim(old), claim(new)) is expected


@pytest.mark.parametrize(
    ("there", "expected"), [([CLAIM], Hint.QUEUE), ([], Hint.SKIP)], ids=["is there", "is missing"]
)
def test_a_pod_whose_claim_was_generated_comes_back_if_that(there: list[Object], expected: Hint) -> None:
    world = Bench(make_node("one"))
    world.put(*there)
    info = PodInfo(msgspec.convert(POD, Pod))
    assert hint(world, EventResource.TARGET_POD)(info, info, info) is expected


def test_the_events_are_kube_schedulers_and_events_of_taint_rules_and_of_pods_that_are_not_bound() -> None:
    registered = {each.event.resource: each.event.action for each in Bench().plugin.events_to_register()}
    came_or_changed = Action.ADD | Action.UPDATE
    assert registered == {
        EventResource.NODE: Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE,
        EventResource.RESOURCE_CLAIM: came_or_changed | Action.DELETE,
        EventResource.TARGET_POD: Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
        EventResource.DEVICE_CLASS: came_or_changed,
        EventResource.RESOURCE_SLICE: came_or_changed,
        "DeviceTaintRule": came_or_changed | Action.DELETE,
        EventResource.ASSIGNED_POD: Action.DELETE,
    }


def test_a_pod_is_gated_until_its_claims_exist() -> None:
    world = Bench(make_node("one"))
    info = PodInfo(msgspec.convert(POD, Pod))
    waits = world.plugin.pre_enqueue(info)
    assert waits is not None
    assert waits.message == 'could not find ResourceClaim "default/wanted"'
    world.put(CLAIM)
    assert world.plugin.pre_enqueue(info) is None
    assert world.plugin.pre_enqueue(PodInfo(msgspec.convert(make_pod("plain"), Pod))) is None
