"""kube-scheduler's default way of bringing scores into 0 to 100, for `normalize_score` of plugins that count."""

from __future__ import annotations

import numpy as np

from .plugin import MAX_NODE_SCORE, Scores


def normalize_to_highest(scores: Scores, *, reverse: bool = False) -> Scores:
    """Scores as truncated per cent of the highest one; with `reverse` the fewest count best.

    Where the highest is 0, all nodes get 0, or 100 with `reverse`.

    Args:
        scores: int64, shape (nodes,), none below 0.
        reverse: whether less is better.
    """
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full_like(scores, MAX_NODE_SCORE) if reverse else scores
    shares = scores * MAX_NODE_SCORE // highest
    return MAX_NODE_SCORE - shares if reverse else shares
