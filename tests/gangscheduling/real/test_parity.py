"""A few of the situations that `make parity-groups` compares."""

from pathlib import Path

from tests.gangscheduling.parity import Comparison, compare, stages
from tests.gangscheduling.situations import make_situation

SEEDS = (3, 6, 30)


def test_muster_does_with_native_groups_what_kube_scheduler_does(tmp_path: Path) -> None:
    found = Comparison()
    with stages(tmp_path) as (theirs, ours):
        for seed in SEEDS:
            compare(theirs, ours, make_situation(seed), found)
    assert found.differences == []
