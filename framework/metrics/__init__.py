"""The counts and measurements of the engine, under the names that kube-scheduler gives its metrics.

What belongs here: the families, each declared once, and the dictionaries of numbers behind them. What does not: how
numbers become text for a scraper, which is `muster.operator.metrics`. Queue, runtime, cycles and plugins (through their
handle) get one `SchedulerMetrics`; tests and embedders make one and read it, or leave it alone.
"""

from .families import Counter, Family, Gauge, GaugeFunc, Histogram, JointCounter, Labels, exponential
from .scheduler import DevicesResult, EntityType, GroupResult, PreemptionResult, Result, SchedulerMetrics

__all__ = [
    "Counter",
    "DevicesResult",
    "EntityType",
    "Family",
    "Gauge",
    "GaugeFunc",
    "GroupResult",
    "Histogram",
    "JointCounter",
    "Labels",
    "PreemptionResult",
    "Result",
    "SchedulerMetrics",
    "exponential",
]
