"""The judge sees a pod that is bound without as many devices as its claims ask for, and one that waits for too few."""

import pytest

from muster.sandbox.kinds import PODS, RESOURCE_CLAIMS
from muster.testing.simulation import Act, standard
from muster.testing.simulation.amounts import SimulatedDevices
from muster.testing.simulation.claimants import Capacity
from muster.testing.simulation.stage import Stage


def stage_of(devices: int, asked: int) -> Stage:
    """A node with devices, and a pod that claims some."""
    stage = Stage("devices", 1, standard())
    stage.world.carry_out(Act(0.0, "node_comes", ("node-0", "east")))
    stage.world.carry_out(Act(0.0, "devices_come", (0.0, devices)))
    stage.world.carry_out(Act(0.0, "claimers_come", ("claimer", 1, 500, asked)))
    return stage


@pytest.mark.parametrize(("devices", "asked", "starts"), [(1, 1, True), (2, 2, True), (3, 2, True), (1, 2, False)])
def test_a_pod_needs_as_many_devices_as_it_claims(devices: int, asked: int, starts: bool) -> None:
    stage = stage_of(devices, asked)
    [pod] = stage.server.objects(PODS)
    assert bool(Capacity(stage.server).for_one(pod)) is starts
    stage.go_on(30.0)
    stage.judge.at_rest()
    stage.end()
    assert stage.judge.wrong == []
    assert len(stage.judge.bound) == starts


@pytest.mark.parametrize(("results", "lacking"), [(0, ["claimer-0"]), (1, ["claimer-0"]), (2, [])])
def test_devices_that_a_pod_was_not_given_are_lacking(results: int, lacking: list[str]) -> None:
    stage = stage_of(2, 2)
    [claim], [pod] = stage.server.objects(RESOURCE_CLAIMS), stage.server.objects(PODS)
    given = [{"pool": "node-0", "device": f"device-{number}"} for number in range(results)]
    status = {"allocation": {"devices": {"results": given}}}
    stage.server.store.replace_stored(RESOURCE_CLAIMS, claim | {"status": status})
    assert SimulatedDevices(stage.server).lacking("node-0", pod) == lacking
    assert SimulatedDevices(stage.server).lacking("node-1", pod) == ["claimer-0"]
    stage.end()
