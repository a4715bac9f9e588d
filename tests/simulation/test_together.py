"""The judge sees members of a group in two domains, and slices that are split."""

from collections.abc import Iterator

import pytest

from muster.sandbox.kinds import NODES, PODS
from muster.testing.simulation import Act, standard
from muster.testing.simulation.acts import RACK, ZONE
from muster.testing.simulation.claimants import Capacity, claimants
from muster.testing.simulation.stage import Stage
from muster.testing.simulation.together import split_domains, split_slices
from muster.testing.simulation.traits import REQUIRED, SLICE_LEVEL, SLICE_SIZE, Traits


@pytest.fixture
def stage() -> Iterator[Stage]:
    """Two nodes in racks of their own, and one in the first rack of another zone."""
    stage = Stage("together", 1, standard())
    for name, zone in (("node-0", "east"), ("node-1", "east"), ("node-2", "west")):
        stage.world.carry_out(Act(0.0, "node_comes", (name, zone)))
    yield stage
    stage.end()


def gang_on(stage: Stage, nodes: list[str], traits: Traits, native: bool = False) -> None:
    stage.world.carry_out(Act(0.0, "group_comes", ("gang", 2, native, traits)))
    for number, node in enumerate(nodes):
        stage.world.carry_out(Act(0.0, "member_comes", ("gang", number, 500, native)))
        stage.world.pods.bind(f"gang-{number}", node)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("levels", "nodes", "split"),
    [
        (ZONE, ["node-0", "node-1"], False),
        (ZONE, ["node-0", "node-2"], True),
        (RACK, ["node-0", "node-2"], False),
        (RACK, ["node-0", "node-1"], True),
    ],
)
def test_members_in_two_domains(stage: Stage, levels: str, nodes: list[str], split: bool, native: bool) -> None:
    gang_on(stage, nodes, ((REQUIRED, levels),), native)
    assert bool([*split_domains(stage.server, "gang")]) is split


def test_racks_of_one_name_in_two_zones_are_two(stage: Stage) -> None:
    gang_on(stage, ["node-0", "node-2"], ((REQUIRED, f"{ZONE},{RACK}"),))
    assert [*split_domains(stage.server, "gang")] != []


@pytest.mark.parametrize(
    ("nodes", "split"),
    [
        (["node-0", "node-0", "node-1"], False),
        (["node-0", "node-1", "node-1", "node-1"], True),
        (["node-0", "node-0", "node-1", "node-1"], False),
    ],
)
def test_slices_in_two_racks(stage: Stage, nodes: list[str], split: bool) -> None:
    gang_on(stage, nodes, ((SLICE_LEVEL, RACK), (SLICE_SIZE, "2")))
    assert bool([*split_slices(stage.server, set())]) is split


def test_a_member_on_a_deleted_node_has_no_node(stage: Stage) -> None:
    """Its Binding arrived just after the node had gone."""
    gang_on(stage, ["node-0", "node-2"], ((REQUIRED, ZONE),))
    stage.world.carry_out(Act(0.0, "member_comes", ("gang", 2, 500, False)))
    assert [*split_domains(stage.server, "gang")] != []
    stage.server.store.delete(NODES, "node-2")
    assert [*split_domains(stage.server, "gang")] == []
    assert [claimant.name for claimant in claimants(stage.server) if Capacity(stage.server).takes(claimant)] == ["gang"]


def test_a_member_that_is_being_deleted_keeps_no_other_in_its_domain(stage: Stage) -> None:
    gang_on(stage, ["node-0", "node-2"], ((REQUIRED, ZONE),))
    stage.server.store.delete(PODS, "gang-0", namespace="default")
    assert "deletionTimestamp" in stage.server.store.get(PODS, "gang-0", namespace="default").obj["metadata"]
    assert [*split_domains(stage.server, "gang")] == []
