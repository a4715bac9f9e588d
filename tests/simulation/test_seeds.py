"""Whatever a seed does to the cluster, all that Muster promises holds; see docs/reliability.md for what that is.

More seeds: `make simulate-faults SEEDS=1-10000`.
"""

import logging
from collections.abc import Iterator

import pytest

from muster.testing.simulation import simulate

_BATCH = 10


@pytest.fixture(autouse=True)
def _silence() -> Iterator[None]:
    """Hundreds of processes that die say much."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("batch", range(6))
def test_all_that_is_promised_holds(batch: int) -> None:
    """On failure: `python -m muster.testing.simulation SEED` cuts the history down to what it takes."""
    outcomes = [simulate(seed) for seed in range(1000 + batch * _BATCH, 1000 + (batch + 1) * _BATCH)]
    assert [str(outcome) for outcome in outcomes if outcome.wrong] == []
