"""UtilizationShapePoint: a point of a piecewise linear score function, used by NodeResourcesFit and VolumeBinding."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from muster.framework.config.fields import ConfigModel, Int32
from muster.framework.config.problems import Problem, invalid, required

_NODE_SCORE_FOR_ONE = 10


class UtilizationShapePoint(ConfigModel):
    """`score` (0 to 10) at `utilization` (0 to 100 percent)."""

    utilization: Int32 = 0
    score: Int32 = 0


def shape_problems(shape: Sequence[UtilizationShapePoint], path: str) -> Iterator[Problem]:
    """Points must exist, ascend in utilization (the first that does not is named) and lie within their ranges."""
    if not shape:
        yield required(path, "at least one point must be specified")
        return
    for index, (before, point) in enumerate(pairwise(shape), start=1):
        if before.utilization >= point.utilization:
            detail = "values must be sorted in increasing order"
            yield invalid(f"{path}[{index}].utilization", point.utilization, detail)
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            yield invalid(f"{path}[{index}].utilization", point.utilization, "not in valid range [0, 100]")
        if not 0 <= point.score <= 10:
            yield invalid(f"{path}[{index}].score", point.score, "not in valid range [0, 10]")


def scores_by_percent(shape: Sequence[UtilizationShapePoint]) -> list[int]:
    """The function's values at 0, 1, ... 100 per cent, on the scale of node scores (0 to 100)."""
    points = [(point.utilization, point.score * _NODE_SCORE_FOR_ONE) for point in shape]
    return [_interpolate(points, percent) for percent in range(101)]


def _interpolate(points: Sequence[tuple[int, int]], percent: int) -> int:
    if percent <= points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in pairwise(points):
        if percent <= right:
            rise = (high - low) * (percent - left)
            return low + (rise // (right - left) if rise >= 0 else -(-rise // (right - left)))
    return points[-1][1]
