"""Extension points: their names in the configuration, and the names of their plugins in kube-scheduler's messages.

The models and the merge rules use them, and so do callers that pass the points of a plugin to `resolve`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

POINTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "preFilter": "PreFilterPlugin",
        "filter": "FilterPlugin",
        "postFilter": "PostFilterPlugin",
        "reserve": "ReservePlugin",
        "preScore": "PreScorePlugin",
        "score": "ScorePlugin",
        "preBind": "PreBindPlugin",
        "bind": "BindPlugin",
        "postBind": "PostBindPlugin",
        "permit": "PermitPlugin",
        "preEnqueue": "PreEnqueuePlugin",
        "queueSort": "QueueSortPlugin",
        "placementGenerate": "PlacementGeneratePlugin",
        "placementScore": "PlacementScorePlugin",
        "podGroupPostFilter": "PodGroupPostFilterPlugin",
    }
)
"""Point -> plugin type, in the order in which kube-scheduler fills the points and so reports faults."""

WEIGHTED_POINTS: Final = {"score": "score", "placementScore": "placement score"}
"""The points whose plugins have weights -> what kube-scheduler calls them in messages."""
