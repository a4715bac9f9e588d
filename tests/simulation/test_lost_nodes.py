"""Pods that are bound to a node after its removal are collected, so that they keep nobody waiting for ever."""

from muster.sandbox.kinds import PODS
from muster.testing.simulation import Act, standard
from muster.testing.simulation.stage import Stage
from muster.testing.simulation.traits import REQUIRED

TOPOLOGY = ((REQUIRED, "example.com/rack"),)


def test_a_gang_starts_once_its_member_on_a_node_that_was_removed_is_collected() -> None:
    stage = Stage("lost", 1, standard())
    act, world = stage.world.carry_out, stage.world
    act(Act(0.0, "node_comes", ("node-0", "east")))
    act(Act(0.0, "group_comes", ("gang", 2, True, TOPOLOGY)))
    act(Act(0.0, "member_comes", ("gang", 0, 1000, True)))
    stage.go_on(10.0)
    act(Act(0.0, "node_goes", (0.0,)))
    world.pods.bind("gang-0", "node-0")
    act(Act(0.0, "node_comes", ("node-1", "east")))
    act(Act(0.0, "member_comes", ("gang", 1, 1000, True)))
    act(Act(0.0, "member_comes", ("gang", 2, 1000, True)))
    stage.go_on(10.0)
    before = nodes(stage)
    stage.go_on(50.0)
    stage.end()
    assert before == {"gang-0": "node-0", "gang-1": None, "gang-2": None}
    assert nodes(stage) == {"gang-1": "node-1", "gang-2": "node-1"}


def nodes(stage: Stage) -> dict[str, str | None]:
    """The node of each pod, by name."""
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in stage.server.objects(PODS)}
