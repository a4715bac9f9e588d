"""A history is cut down to what it takes."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.testing.simulation.shrink import shortest


@pytest.mark.parametrize("needed", [{0}, {7}, {0, 7}, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7}])
def test_only_the_needed_acts_are_left(needed: set[int]) -> None:
    assert shortest(range(8), lambda kept: needed <= set(kept)) == sorted(needed)


@given(st.sets(st.integers(0, 40)), st.integers(41, 60))
def test_no_single_item_can_be_left_out(needed: set[int], length: int) -> None:
    def fails(kept: Sequence[int]) -> bool:
        return needed <= set(kept) and len(kept) > 1

    kept = shortest(range(length), fails)
    assert fails(kept)
    assert not any(fails(kept[:at] + kept[at + 1 :]) for at in range(len(kept)))
