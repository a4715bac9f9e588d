"""What the engine counts and measures, under the names that kube-scheduler gives its metrics.

What belongs here: the families, each declared once, and the dictionaries of numbers behind them. What does not: how
numbers become text for a scraper, which is `muster.operator.metrics`. Queue, runtime, cycles and plugins (through their
handle) get one `SchedulerMetrics`; tests and embedders make one and read it, or leave it alone.
"""

from .families import Counter, Family, Gauge, Histogram, JointCounter, Labels, Reading, exponential
from .scheduler import DevicesResult, EntityType, GroupResult, PreemptionResult, Result, SchedulerMetrics

__all__ = [
    "Counter",
    "DevicesResult",
    "EntityType",
    "Family",
    "Gauge",
    "GroupResult",
    "Histogram",
    "JointCounter",
    "Labels",
    "PreemptionResult",
    "Reading",
    "Result",
    "SchedulerMetrics",
    "exponential",
]
