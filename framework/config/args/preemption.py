"""Arguments of DefaultPreemption."""

from collections.abc import Iterator

from muster.framework.config.args.base import PluginArgs
from muster.framework.config.fields import Int32
from muster.framework.config.problems import Problem, invalid


class DefaultPreemptionArgs(PluginArgs):
    """How many candidate nodes to look for: the larger of a percentage of all nodes and an absolute number."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100

    def problems(self, path: str) -> Iterator[Problem]:
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        percentage_path, absolute_path = f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute"
        if not 0 <= percentage <= 100:
            yield invalid(percentage_path, percentage, "not in valid range [0, 100]")
        if absolute < 0:
            yield invalid(absolute_path, absolute, "not in valid range [0, inf)")
        if percentage == 0 and absolute == 0:
            yield invalid(percentage_path, 0, "cannot be zero at the same time as minCandidateNodesAbsolute")
            yield invalid(absolute_path, 0, "cannot be zero at the same time as minCandidateNodesPercentage")
