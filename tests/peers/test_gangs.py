"""The situations of Coscheduling, where the gang or the pods start that there is room for, and none of the others.

One more is none there: a gang with a quota.
"""

from dataclasses import replace

import pytest

from tests.coscheduling.conftest import AddNodes
from tests.e2e.conftest import unique_name
from tests.e2e.eventually import eventually
from tests.peers.conftest import MakeStage, Schedulers, gang_profile
from tests.peers.gangs import AFTER_A_FAILURE, ON_ONE_NODE, WITH_A_COMPLETED_MEMBER
from tests.peers.situations import (
    HIGH,
    LOW,
    PlacingSituation,
    PlayedGroup,
    PlayedPod,
    PlayedQuota,
    members,
    names,
)
from tests.peers.stage import PeerStage, node


@pytest.fixture(scope="module")
def patient(schedulers: Schedulers) -> str:
    """The schedulerName of a process that waits three seconds at Permit."""
    name = unique_name()
    schedulers.start(name, gang_profile(permitWaitingTimeSeconds=3))
    return name


@pytest.fixture(scope="module")
def backing_off(schedulers: Schedulers) -> str:
    """The schedulerName of a process that also leaves a gang alone for a second when it did not fit."""
    name = unique_name()
    schedulers.start(name, gang_profile(permitWaitingTimeSeconds=3, podGroupBackoffSeconds=1))
    return name


def play(stage: PeerStage, situation: PlacingSituation, add_nodes: AddNodes) -> None:
    add_nodes(*(node(name, resources) for name, resources in situation.nodes.items()))
    stage.add_groups(situation.groups)
    stage.create([*situation.before, *situation.come])
    eventually(lambda: situation.scheduled <= stage.with_nodes(), within=situation.within)
    stage.wait_until_decided()
    assert stage.with_nodes() == situation.scheduled


@pytest.mark.parametrize("situation", ON_ONE_NODE, ids=lambda situation: situation.shows)
def test_the_gang_or_the_pods_that_there_is_room_for_start_alone(
    situation: PlacingSituation, make_stage: MakeStage, add_nodes: AddNodes, patient: str
) -> None:
    play(make_stage(patient), situation, add_nodes)


@pytest.mark.parametrize("situation", [WITH_A_COMPLETED_MEMBER, AFTER_A_FAILURE], ids=lambda situation: situation.shows)
def test_a_gang_that_cannot_start_keeps_none_from_starting_where_it_is_left_alone_after_a_failure(
    situation: PlacingSituation, make_stage: MakeStage, add_nodes: AddNodes, backing_off: str
) -> None:
    play(make_stage(backing_off), situation, add_nodes)


def test_a_gang_gets_back_what_another_namespace_has_borrowed_on_two_nodes(
    make_stage: MakeStage, add_nodes: AddNodes, patient: str
) -> None:
    stage = make_stage(patient)
    add_nodes(*(node(each, {"cpu": "2", "memory": "4Gi", "pods": "32"}) for each in ("first", "second")))
    stage.add_quotas({"one": PlayedQuota(min={"cpu": "2"}), "two": PlayedQuota(min={"cpu": "2"})})
    kept = [PlayedPod(name=f"kept-{on}", requests={"cpu": "1"}, priority=HIGH, node=on) for on in ("first", "second")]
    lent = [PlayedPod(name=f"lent-{on}", requests={"cpu": "1"}, node=on) for on in ("first", "second")]
    stage.create([*kept, *lent])
    gang = [replace(pod, team="two") for pod in members("gang", 2, {"cpu": "1"}, LOW)]
    stage.add_groups({"gang": PlayedGroup(needs=2)}, team="two")
    stage.create(gang)
    eventually(lambda: stage.with_nodes() == names([*kept, *gang]))
    assert {stage.team("two").node_of(pod.name) for pod in gang} == {"first", "second"}
