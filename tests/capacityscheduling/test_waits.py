"""Waits for a turn or a start stay within their bounds, and a longer one would be seen: see `waits`."""

import pytest

from muster.framework.contract import EvictionRule
from muster.framework.queue.tenants import TenantHeap
from muster.plugins.capacityscheduling.claims import Claims
from muster.plugins.capacityscheduling.turns import Turns
from tests.capacityscheduling.histories import Broken
from tests.capacityscheduling.waits import TURN, WITHIN_MIN, WITHIN_SHARE, Waits, main, play


def test_in_no_history_does_anybody_wait_longer_than_the_bounds() -> None:
    waits = Waits()
    for seed in range(1, 13):
        waits.add(play(seed).waits)
    assert {TURN, WITHIN_MIN, WITHIN_SHARE} == {*waits.longest}


def is_seen(kind: str, *seeds: int) -> bool:
    """Whether one of the histories complains of such a wait."""
    for seed in seeds:
        try:
            play(seed)
        except Broken as fault:
            if f"for {kind} of" in str(fault):
                return True
    return False


def test_a_queue_without_patience_lets_somebody_wait_for_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TenantHeap, "_overdue", lambda self, now: None)
    assert is_seen(TURN, *range(1, 20))


def test_claims_that_nobody_may_make_let_somebody_wait_within_min(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Claims, "rule", lambda self, members, missing, priority: EvictionRule(priority))
    assert is_seen(WITHIN_MIN, 36, 48, 53)


def test_turns_by_priority_alone_let_somebody_wait_within_the_entitled_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Turns, "turn_of", lambda self, namespace, pod, ledger: (1.0, -pod.priority))
    assert is_seen(WITHIN_SHARE, 27, 41, 65)


def test_the_longest_waits_are_printed_with_their_bounds_and_a_broken_bound_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["1-2", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("3 histories of 400 s: ")
    assert all(" s, bound " in line for line in lines[1:])
    monkeypatch.setattr(TenantHeap, "_overdue", lambda self, now: None)
    assert main(["1-40"]) == 1
    assert "a wait for a turn of" in capsys.readouterr().out
