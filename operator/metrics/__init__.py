"""The scheduler's metrics, under the names that kube-scheduler gives them.

What belongs here: what is measured and how it becomes text. What does not: who may read it, which is
`muster.operator.serving`, and what the engine counts, which is `muster.framework.metrics`.
"""

from .exposition import CONTENT_TYPE, blocks, registry_of
from .pod_resources import pod_resource_blocks
from .process import ProcessMetrics
from .state import State, StateMetrics

__all__ = ["CONTENT_TYPE", "ProcessMetrics", "State", "StateMetrics", "blocks", "pod_resource_blocks", "registry_of"]
