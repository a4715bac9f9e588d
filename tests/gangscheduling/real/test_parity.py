"""A few of the situations that `make parity-groups` compares."""

from pathlib import Path

from tests.gangscheduling.parity.comparison import Tally, play
from tests.gangscheduling.parity.stage import stages
from tests.gangscheduling.situations import make_situation

SEEDS = (3, 6, 30)


def test_muster_does_with_native_groups_what_kube_scheduler_does(tmp_path: Path) -> None:
    tally = Tally()
    with stages(tmp_path) as (theirs, ours):
        for seed in SEEDS:
            play(theirs, ours, make_situation(seed), tally)
    assert tally.differences == []
    assert tally.compared["bound"] > 0
