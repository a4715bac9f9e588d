"""UtilizationShapePoint: a point of a piecewise linear score function, used by NodeResourcesFit and VolumeBinding."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from muster.framework.config.fields import ConfigModel, Int32
from muster.framework.config.problems import Problem, invalid, required


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
