"""The judge reports that a claimant starves beside a crowd if it could be helped, and only then."""

from collections.abc import Sequence

import pytest

from muster.plugins.reservation.reserved_capacity import ReservationBook
from muster.sandbox.kinds import PODS
from muster.testing.simulation import Act, standard
from muster.testing.simulation.passing import passes
from muster.testing.simulation.stage import Stage
from muster.testing.simulation.starvation import Patience

CROWD, NOBODY = Patience(40.0, 40.0), Patience(20.0, 0.0)
BOUND = 300.0
"""Longer than both."""
SILENCE = Act(65.0, "watches_fall_silent", (0.5,))
NOTICED_AT = 215.0
"""Two and a half minutes after the bookmarks that were the last to come."""
NODES = tuple(Act(0.0, "node_comes", (f"node-{number}", "east")) for number in range(2))


def starving(since: float) -> tuple[Act, ...]:
    """A crowd, and a gang that needs all nodes."""
    gang = Act(since, "group_comes", ("whole", 2, False))
    members = (Act(since, "member_comes", ("whole", number, 4000, False)) for number in range(2))
    return (*NODES, Act(0.0, "stream_begins", (0.5, CROWD.longest, False, 4, 600.0)), gang, *members)


def played(history: Sequence[Act], patience: Patience, seconds: float) -> tuple[list[str], set[str]]:
    """What was wrong, and which pods of the users have a node."""
    stage = Stage("starvation", 1, standard(int(patience.after)))
    stage.world.expect(history)
    stage.judge.troubles_end(patience)
    stage.go_on(seconds)
    bound = [pod for pod in stage.server.objects(PODS) if pod["spec"].get("nodeName") and not passes(pod)]
    wrong = [*stage.judge.wrong, *stage.loop.failures]
    stage.end()
    return wrong, {pod["metadata"]["name"] for pod in bound}


def test_a_gang_starts_beside_a_crowd_by_a_reservation() -> None:
    assert played(starving(40.0), CROWD, 40.0 + BOUND) == ([], {"whole-0", "whole-1"})


@pytest.mark.parametrize(
    ("history", "since"),
    [(starving(40.0), 40.0), ((SILENCE, *starving(190.0)), NOTICED_AT)],
    ids=["known at once", "known when half-open watches are noticed"],
)
def test_a_gang_that_starves_is_seen(history: Sequence[Act], since: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reservations that keep no pod off are as good as none."""
    monkeypatch.setattr(ReservationBook, "kept_off", lambda self, pod, snapshot, now: None)
    wrong, started = played(history, CROWD, since + BOUND)
    assert started == set()
    [reported] = wrong
    assert reported.startswith("2 of 2 members of whole wait for")


def test_the_wait_of_a_pod_added_while_watches_are_half_open_counts_from_their_detection() -> None:
    history = (*NODES, SILENCE, Act(66.0, "pods_come", ("pod", 1, 1000, "", False)))
    assert played(history, NOBODY, NOTICED_AT + BOUND) == ([], {"pod-0"})


@pytest.mark.parametrize("jump", [-600.0, 600.0])
def test_a_process_whose_clock_is_wrong_goes_by_the_api_server_s(jump: float) -> None:
    stage = Stage("clock", 1, standard())
    [replica] = stage.replicas
    stage.world.carry_out(Act(0.0, "clock_jumps", (0.0, jump)))
    stage.go_on(60.0)
    process = replica.process
    assert process is not None
    ahead = process.clock.wall() - stage.server.wall()
    stage.end()
    assert abs(ahead) < 5.0
