"""kube-scheduler's default way of normalising scores."""

import numpy as np
import pytest

from muster.framework.authoring import normalize_to_highest


@pytest.mark.parametrize(
    ("scores", "normalized", "reversed_"),
    [
        ([0, 0], [0, 0], [100, 100]),
        ([3], [100], [0]),
        ([1, 2, 3], [33, 66, 100], [67, 34, 0]),
        ([0, 7, 2], [0, 100, 28], [100, 0, 72]),
        ([], [], []),
    ],
)
def test_scores_become_truncated_per_cent_of_the_highest(
    scores: list[int], normalized: list[int], reversed_: list[int]
) -> None:
    given = np.array(scores, np.int64)
    assert normalize_to_highest(given).tolist() == normalized
    assert normalize_to_highest(given, reverse=True).tolist() == reversed_
    assert given.tolist() == scores
