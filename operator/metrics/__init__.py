"""The scheduler's metrics, under kube-scheduler's names.

What belongs here: metrics of the process and of its state, and how metrics become text. What does not: access control,
which is in `muster.operator.serving`, and the engine's counters, which are in `muster.framework.metrics`.
"""

from .exposition import CONTENT_TYPE, blocks, registry_of
from .pod_resources import pod_resource_blocks
from .process import ProcessMetrics
from .state import State, StateMetrics

__all__ = ["CONTENT_TYPE", "ProcessMetrics", "State", "StateMetrics", "blocks", "pod_resource_blocks", "registry_of"]
