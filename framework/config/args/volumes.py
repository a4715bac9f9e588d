"""Arguments of VolumeBinding."""

from collections.abc import Iterator
from typing import Annotated

from muster.framework.config.args.base import PluginArgs
from muster.framework.config.args.shape import UtilizationShapePoint, shape_problems
from muster.framework.config.fields import Int64, unless_zero
from muster.framework.config.problems import Problem, invalid

MOST_FREE_FIRST = (UtilizationShapePoint(utilization=0, score=10), UtilizationShapePoint(utilization=100, score=0))


class VolumeBindingArgs(PluginArgs):
    """How long (seconds) to wait for volumes to be bound, and the score of a node by the use of its volumes."""

    bind_timeout_seconds: Int64 = 600
    shape: Annotated[tuple[UtilizationShapePoint, ...], unless_zero(MOST_FREE_FIRST)] = MOST_FREE_FIRST

    def problems(self, path: str) -> Iterator[Problem]:
        if self.bind_timeout_seconds < 0:
            detail = "invalid BindTimeoutSeconds, should not be a negative value"
            yield invalid(f"{path}.bindTimeoutSeconds", self.bind_timeout_seconds, detail)
        yield from shape_problems(self.shape, f"{path}.shape")
