"""No two namespaces evict each other in turn, whatever happens to them: see `histories`."""

from collections import Counter

import pytest

from tests.capacityscheduling.histories import play


@pytest.mark.parametrize("first", range(1, 201, 20))
def test_in_no_history_do_namespaces_evict_each_other_in_turn(first: int) -> None:
    happened = sum((play(seed) for seed in range(first, first + 20)), start=Counter())
    assert happened["claims"] > 0
    assert happened["evicted"] >= happened["claims"]
