"""Compares Muster and kube-scheduler on native groups: `python -m tests.gangscheduling.parity [COUNT [FIRST]]`.

Both run on one control plane and answer to names of their own. With `--trees` the groups are parts of
CompositePodGroups. With `--record` the summary is kept as the result `parity-groups`, or `parity-trees`.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.gangscheduling.parity.comparison import Tally, play
from tests.gangscheduling.parity.stage import stages
from tests.gangscheduling.situations import make_situation, make_tree_situation
from tests.parity.summary import origin, summarise
from tests.parity.world import now


@click.command()
@click.argument("count", type=click.IntRange(1), default=150)
@click.argument("first", type=click.IntRange(0), default=0)
@click.option("--trees", is_flag=True, help="Let the groups be parts of CompositePodGroups.")
@click.option("--record", is_flag=True, help="Keep what was compared as a result.")
def main(count: int, first: int, trees: bool, record: bool) -> None:
    """Compare on COUNT situations, from seed FIRST on. Fails if anything differs."""
    measured, began = origin(keep=record), now()
    make, tally = make_tree_situation if trees else make_situation, Tally()
    with TemporaryDirectory(prefix="muster-parity-") as folder, stages(Path(folder)) as (theirs, ours):
        for seed in range(first, first + count):
            known = len(tally.differences)
            play(theirs, ours, make(seed), tally)
            print(f"situation {seed}: {now() - began:.0f} s", *tally.differences[known:], sep="\n", flush=True)
    print(tally)
    summarise("parity-trees" if trees else "parity-groups", tally.data, measured, now() - began)
    sys.exit(bool(tally.differences))


if __name__ == "__main__":
    main()
