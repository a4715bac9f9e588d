"""Compares Muster with kube-scheduler and says what was compared: `python -m tests.parity [CLUSTERS [FULL]]`.

Two ranges of seeds such as `1-60`, or 0 for none: of clusters with pods of every kind, and of full clusters in which
pods preempt. With `--record` the summaries are kept as the results `parity` and `parity-preemption`.
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.parity.comparison import PROFILES, Comparison, Tally, Worlds
from tests.parity.summary import origin, summarise
from tests.parity.world import kube_scheduler, muster, now


def _seeds(context: click.Context, parameter: click.Parameter, text: str) -> range:
    first, _, last = text.partition("-")
    try:
        return range(int(first), int(last or first) + 1) if text != "0" else range(0)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no range of seeds, such as 1-60") from None


@click.command()
@click.argument("clusters", default="1-60", callback=_seeds)
@click.argument("full", default="1-100", callback=_seeds)
@click.option("--record", is_flag=True, help="Keep what was compared as results.")
def main(clusters: range, full: range, record: bool) -> None:
    """Compare on CLUSTERS with pods of every kind, and FULL ones in which pods preempt. Fails if anything differs."""
    measured = origin(keep=record)
    with (
        TemporaryDirectory() as folder,
        kube_scheduler(Path(folder, "theirs"), PROFILES) as theirs,
        muster(Path(folder, "ours"), PROFILES) as ours,
    ):
        worlds = Worlds(theirs, ours)
        tallies = {
            "parity": _play("cluster", clusters, worlds, Comparison.cluster),
            "parity-preemption": _play("full cluster", full, worlds, Comparison.full_cluster),
        }
    found = {name: tally for name, tally in tallies.items() if tally.clusters}
    for name, tally in found.items():
        summarise(name, tally.data, measured, tally.seconds)
    sys.exit(any(tally.differences for tally in found.values()))


def _play(what: str, seeds: Iterable[int], worlds: Worlds, compare: Callable[[Comparison, int], None]) -> Tally:
    tally, began = Tally(), now()
    comparison = Comparison(worlds, tally)
    for seed in seeds:
        known = len(tally.differences)
        compare(comparison, seed)
        tally.seconds = now() - began
        print(f"{what} {seed}: {tally.seconds:.0f} s, {tally}", *tally.differences[known:], sep="\n", flush=True)
    return tally


if __name__ == "__main__":
    main()
