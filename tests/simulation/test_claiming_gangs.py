"""The judge sees a gang that waits although there is a device for each of its members, and only then."""

import pytest

from muster.testing.simulation import Act, standard
from muster.testing.simulation.claimants import Capacity, claimants
from muster.testing.simulation.stage import Stage


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(("devices", "starts"), [((1, 1), True), ((1, 0), False), ((0, 2), True)])
def test_a_gang_needs_a_device_for_each_member(devices: tuple[int, int], starts: bool, native: bool) -> None:
    stage = Stage("claiming", 1, standard())
    for number, many in enumerate(devices):
        stage.world.carry_out(Act(0.0, "node_comes", (f"node-{number}", "east")))
        if many:
            stage.world.carry_out(Act(0.0, "devices_come", (0.9, many)))
    stage.world.carry_out(Act(0.0, "group_comes", ("gang", 2, native)))
    for number in range(2):
        stage.world.carry_out(Act(0.0, "claiming_member_comes", ("gang", number, 1000, native, False)))
    [claimant] = claimants(stage.server)
    assert Capacity(stage.server).takes(claimant) is starts
    stage.go_on(30.0)
    stage.judge.at_rest()
    stage.end()
    assert stage.judge.wrong == []
    assert len(stage.judge.bound) == (2 if starts else 0)
