"""The plugins by which a profile controls in which topology domain a native group is placed.

The engine computes the domains and the share of members (`DomainSearch`, `ByPlacementScore`): the plugins say that it
does so, and PodGroupPodsCount with which weight. kube-scheduler enables both with the gate
TopologyAwareWorkloadScheduling.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muster.framework.contract import (
    Partition,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    PodInfo,
    Scores,
    SnapshotReader,
)


class TopologyPlacementGenerator(PlacementGeneratePlugin):
    """Places a group in one domain of the label that `spec.schedulingConstraints` names (TopologyPlacement)."""

    name = "TopologyPlacementGenerator"


class PodGroupPodsCount(PlacementScorePlugin):
    """Favours domains that take more of the group's pods (PodGroupPodsCount)."""

    name = "PodGroupPodsCount"
    counts_members = True

    def score_placements(self, pods: Sequence[PodInfo], domains: Partition, snapshot: SnapshotReader) -> Scores:
        """Nothing besides the share of members."""
        return np.zeros(len(domains), np.int64)
