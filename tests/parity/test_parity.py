"""On the same random clusters Muster decides as kube-scheduler does.

Three clusters have 120 pods of every kind. `make nightly` compares sixty such clusters, and a hundred full ones.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parity.comparison import PODS, PROFILES, Comparison, Tally, Worlds
from tests.parity.world import kube_scheduler, muster

CLUSTERS, FULL_CLUSTERS = range(1, 4), range(1, 6)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """The worlds of both sides."""
    folder: Path = tmp_path_factory.mktemp("parity")
    with kube_scheduler(folder / "theirs", PROFILES) as theirs, muster(folder / "ours", PROFILES) as ours:
        yield Worlds(theirs, ours)


def test_pods_of_every_kind_are_refused_with_the_same_words_and_placed_on_the_best_nodes(worlds: Worlds) -> None:
    tally = Tally()
    for seed in CLUSTERS:
        Comparison(worlds, tally).cluster(seed)
    assert not tally.differences, "\n".join(tally.differences)
    assert sum(tally.seen.values()) == len(CLUSTERS) * PODS
    assert min(tally.seen[kind] for kind in ("placed", "refused", "gated")) > 0


def test_the_same_pods_are_evicted_from_the_same_nodes(worlds: Worlds) -> None:
    tally = Tally()
    for seed in FULL_CLUSTERS:
        Comparison(worlds, tally).full_cluster(seed)
    assert not tally.differences, "\n".join(tally.differences)
    assert tally.seen["made room"] >= len(FULL_CLUSTERS)
