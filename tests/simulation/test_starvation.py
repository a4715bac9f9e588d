"""The judge sees that somebody starves beside a crowd who could be helped, and only then."""

import pytest

from muster.plugins.reservation.holds import Holds
from muster.sandbox.kinds import PODS
from muster.testing.simulation import Act, standard
from muster.testing.simulation.stage import Stage
from muster.testing.simulation.starvation import Patience

AFTER, LONGEST, BOUND = 40, 40.0, 300.0
HISTORY = (
    *(Act(0.0, "node_comes", (f"node-{number}", "east")) for number in range(2)),
    Act(0.0, "stream_begins", (0.5, LONGEST, False, 4, 600.0)),
    Act(40.0, "group_comes", ("whole", 2, False)),
    *(Act(40.0, "member_comes", ("whole", number, 4000, False)) for number in range(2)),
)


def played() -> tuple[list[str], set[str]]:
    """What was wrong, and which members of the gang have a node."""
    stage = Stage("starvation", 1, standard(AFTER))
    stage.world.expect(HISTORY)
    stage.judge.troubles_end(Patience(AFTER, LONGEST))
    stage.go_on(40.0 + BOUND)
    bound = {pod["metadata"]["name"] for pod in stage.server.objects(PODS) if pod["spec"].get("nodeName")}
    wrong = [*stage.judge.wrong, *stage.loop.failures]
    stage.end()
    return wrong, {name for name in bound if name.startswith("whole")}


def test_a_gang_starts_beside_a_crowd_by_a_reservation() -> None:
    assert played() == ([], {"whole-0", "whole-1"})


def test_a_gang_that_starves_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reservations that keep nobody off are as good as none."""
    monkeypatch.setattr(Holds, "kept_off", lambda self, pod, snapshot, now: None)
    wrong, started = played()
    assert started == set()
    [told] = wrong
    assert told.startswith("2 of 2 members of whole wait for")
