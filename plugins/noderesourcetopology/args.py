"""Arguments of the plugin NodeResourceTopologyMatch: those of scheduler-plugins, with their defaults.

Muster compares reports as they arrive and reads pods from the informer that it has anyway, so the period of
comparisons, the informer and the scope of changes are accepted and change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from muster.framework.contract.arguments import Bool, Int64, PluginArgs, Problem, ResourceSpec, Text, unsupported

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
BALANCED_ALLOCATION = "BalancedAllocation"
LEAST_NUMA_NODES = "LeastNUMANodes"
STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, BALANCED_ALLOCATION, LEAST_NUMA_NODES)

ALL, NONE, EXCLUSIVE, AUTODETECT = "All", "None", "OnlyExclusiveResources", "Autodetect"
_CHOICES = {
    "foreignPodsDetect": (NONE, ALL, EXCLUSIVE),
    "resyncMethod": (AUTODETECT, ALL, EXCLUSIVE),
    "informerMode": ("Shared", "Dedicated"),
    "resyncScope": (ALL, "OnlyResources"),
}


class ZoneScoring(PluginArgs):
    """How nodes are scored, and the weights of resources; a resource without one has the weight 1."""

    type: Text = ""
    resources: tuple[ResourceSpec, ...] = ()

    def problems(self, path: str) -> Iterator[Problem]:
        """The problems with the strategy at `path`."""
        if self.type not in STRATEGIES:
            yield unsupported(f"{path}.type", self.type, STRATEGIES)


class ReportMatching(PluginArgs):
    """How reports are compared with pods.

    Attributes:
        foreign_pods_detect: which pods of other schedulers count before the report includes them.
        resync_method: which pods the fingerprint stands for; Autodetect reads it from the report.
        informer_mode: changes nothing.
        resync_scope: changes nothing.
    """

    foreign_pods_detect: Text = ALL
    resync_method: Text = AUTODETECT
    informer_mode: Text = "Dedicated"
    resync_scope: Text = ALL

    def problems(self, path: str) -> Iterator[Problem]:
        """The problems with the values; `path` is where they stand."""
        given = self.model_dump(by_alias=True)
        for field, choices in _CHOICES.items():
            if given[field] not in choices:
                yield unsupported(f"{path}.{field}", given[field], choices)


class NodeResourceTopologyMatchArgs(PluginArgs):
    """The plugin's arguments.

    Attributes:
        scoring_strategy: how nodes are scored.
        cache_resync_period_seconds: changes nothing.
        discard_reserved_nodes: leave a node alone while a pod is being bound to it.
        cache: how reports are compared with pods.
    """

    scoring_strategy: ZoneScoring = ZoneScoring(type=LEAST_ALLOCATED)
    cache_resync_period_seconds: Int64 = 0
    discard_reserved_nodes: Bool = False
    cache: ReportMatching = ReportMatching()

    def problems(self, path: str) -> Iterator[Problem]:
        """The problems with the values; `path` is where the arguments stand."""
        yield from self.scoring_strategy.problems(f"{path}.scoringStrategy")
        yield from self.cache.problems(f"{path}.cache")
