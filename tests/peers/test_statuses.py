"""The situations of the controllers of PodGroups and ElasticQuotas: their statuses follow the pods."""

import pytest

from tests.coscheduling.conftest import AddNodes
from tests.e2e.conftest import unique_name
from tests.e2e.eventually import eventually
from tests.peers.conftest import MakeStage, Schedulers, gang_profile
from tests.peers.situations import Amounts, PlayedGroup, PlayedPod
from tests.peers.stage import PeerStage, node
from tests.peers.statuses import GROUPS, NODES, QUOTAS, WITHIN_SECONDS, Counts, GroupSituation, QuotaSituation


@pytest.fixture(scope="module")
def plain(schedulers: Schedulers) -> str:
    """The schedulerName of a process with gangs and quotas."""
    name = unique_name()
    schedulers.start(name, gang_profile())
    return name


def wait_for_status(stage: PeerStage, expected: Counts) -> None:
    def is_so() -> bool:
        status = stage.status("group")
        return {field: status.get(field, "") for field in expected} == expected

    eventually(is_so, within=WITHIN_SECONDS)


@pytest.mark.parametrize("situation", GROUPS, ids=lambda situation: situation.shows)
def test_the_status_of_a_group_follows_its_pods(
    situation: GroupSituation, make_stage: MakeStage, add_nodes: AddNodes, plain: str
) -> None:
    stage = make_stage(plain)
    add_nodes(node("only", {"memory": "300", "pods": "32"}))
    stage.add_groups({"group": PlayedGroup(needs=3)})
    group = "group" if situation.labelled else ""
    pods = [
        PlayedPod(name=name, requests={"memory": "50"}, group=group, node="only", phase=situation.before)
        for name in ("a", "b", "c")
    ]
    stage.create(pods)
    wait_for_status(stage, situation.status)
    phase, count = situation.change
    for pod in pods[:count]:
        stage.report(pod.name, phase)
    wait_for_status(stage, situation.becomes)


def wait_for_used(stage: PeerStage, expected: dict[str, Amounts]) -> None:
    eventually(lambda: {team: stage.used(team) for team in expected} == expected, within=WITHIN_SECONDS)


@pytest.mark.parametrize("situation", QUOTAS, ids=lambda situation: situation.shows)
def test_the_status_of_a_quota_says_what_its_pods_request(
    situation: QuotaSituation, make_stage: MakeStage, add_nodes: AddNodes, plain: str
) -> None:
    stage = make_stage(plain)
    add_nodes(*(node(name, resources) for name, resources in NODES.items()))
    stage.add_quotas(situation.quotas)
    stage.create(situation.pods)
    wait_for_used(stage, {**situation.used})
    for name, phase in situation.change.items():
        stage.report(name, phase)
    wait_for_used(stage, {**situation.becomes})
    assert len(stage.with_nodes()) == sum(situation.change.get(pod.name) in (None, "Running") for pod in situation.pods)
