"""Whatever a seed does to the cluster, all that Muster promises holds; see docs/reliability.md for what that is.

More seeds: `make simulate-faults SEEDS=1-10000`.
"""

import logging
from collections.abc import Iterator

import pytest

from muster.testing.simulation import simulate

_BATCH = 10
_ONCE_WRONG = {
    153: "the run was at rest before a watch that had fallen silent last was noticed",
    1408: "a pod of a native gang waited for pods that had succeeded, as it turned out after it had come",
    5077: "the room of a member of a native gang that the API refused to bind went to others",
}
"""Seeds that found something, and what. What the first seeds of all found went with the changes of the histories."""


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


@pytest.mark.parametrize("seed", _ONCE_WRONG)
def test_what_was_wrong_once_holds(seed: int) -> None:
    assert str(simulate(seed)).endswith("all held")
