"""The situations of CapacityScheduling, and that quotas hold after a restart, which is no situation there."""

import pytest

from tests.coscheduling.conftest import AddNodes
from tests.e2e.conftest import unique_name
from tests.e2e.eventually import eventually
from tests.peers.conftest import MakeStage, Schedulers
from tests.peers.quotas import SITUATIONS
from tests.peers.situations import PlacingSituation, PlayedQuota, names, singles
from tests.peers.stage import node

ENABLED = {"enabled": [{"name": "CapacityScheduling"}]}
PROFILE = {"plugins": {"preFilter": ENABLED, "postFilter": ENABLED | {"disabled": [{"name": "*"}]}, "reserve": ENABLED}}
"""The profile of scheduler-plugins' tests of quotas."""


@pytest.fixture(scope="module")
def sharing(schedulers: Schedulers) -> str:
    """The schedulerName of a process with quotas."""
    name = unique_name()
    schedulers.start(name, PROFILE)
    return name


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.shows)
def test_namespaces_get_what_quotas_and_priorities_give_them(
    situation: PlacingSituation, make_stage: MakeStage, add_nodes: AddNodes, sharing: str
) -> None:
    stage = make_stage(sharing)
    add_nodes(*(node(name, resources) for name, resources in situation.nodes.items()))
    stage.add_quotas(situation.quotas)
    stage.create(situation.before)
    stage.create(situation.come)
    eventually(lambda: situation.scheduled <= stage.with_nodes(), within=situation.within)
    stage.wait_until_decided()
    assert stage.with_nodes() == situation.scheduled | situation.besides


def test_a_process_that_starts_anew_counts_the_pods_that_have_nodes(
    schedulers: Schedulers, make_stage: MakeStage, add_nodes: AddNodes
) -> None:
    name = unique_name()
    first = schedulers.start(name, PROFILE)
    stage = make_stage(name)
    add_nodes(node("only", {"cpu": "4", "memory": "4Gi", "pods": "32"}))
    stage.add_quotas({"one": PlayedQuota(min={"cpu": "1"}, max={"cpu": "2"}), "two": PlayedQuota(min={"cpu": "1"})})
    before = singles("before", 2, {"cpu": "1"})
    stage.create(before)
    eventually(lambda: stage.with_nodes() == names(before))
    first.kill()
    schedulers.start(name, PROFILE)
    stage.create(singles("after", 2, {"cpu": "1"}))
    stage.wait_until_decided()
    assert stage.with_nodes() == names(before)
    eventually(lambda: stage.used("one") == {"cpu": "2"})
