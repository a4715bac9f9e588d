"""Arguments of plugins: what models of `pluginConfig[].args` consist of, and the arguments of kube-scheduler's plugins.

Public, like the package. A plugin that takes arguments derives its model from `PluginArgs`.
"""

from ..config.args import (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from ..config.args.models import PluginArgs, scores_by_percent
from ..config.args.resources import MOST_ALLOCATED
from ..config.args.selectors import AddedAffinity as NodeAffinityForm
from ..config.durations import format_duration
from ..config.fields import Bool, Int64, Text
from ..config.problems import Problem, invalid, unsupported

__all__ = [
    "MOST_ALLOCATED",
    "Bool",
    "DefaultPreemptionArgs",
    "DynamicResourcesArgs",
    "Int64",
    "InterPodAffinityArgs",
    "NodeAffinityArgs",
    "NodeAffinityForm",
    "NodeResourcesBalancedAllocationArgs",
    "NodeResourcesFitArgs",
    "PluginArgs",
    "PodTopologySpreadArgs",
    "Problem",
    "ResourceSpec",
    "ScoringStrategy",
    "Text",
    "UtilizationShapePoint",
    "VolumeBindingArgs",
    "format_duration",
    "invalid",
    "scores_by_percent",
    "unsupported",
]
