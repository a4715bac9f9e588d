"""Arguments of kube-scheduler's own plugins: a model each, with kube-scheduler's defaults and validation.

What belongs here: the shape and the rules of `pluginConfig[].args`. What does not: arguments of any other plugin, which
declares its own model as `args_model`.
"""

from muster.framework.config.args.models import (
    DefaultConstraint,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    PluginArgs,
    PodTopologySpreadArgs,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from muster.framework.config.args.resources import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
)
from muster.framework.config.args.table import API_VERSION, ARGS_MODELS, decode_plugin_args

__all__ = [
    "API_VERSION",
    "ARGS_MODELS",
    "DefaultConstraint",
    "DefaultPreemptionArgs",
    "DynamicResourcesArgs",
    "InterPodAffinityArgs",
    "NodeAffinityArgs",
    "NodeResourcesBalancedAllocationArgs",
    "NodeResourcesFitArgs",
    "PluginArgs",
    "PodTopologySpreadArgs",
    "RequestedToCapacityRatioParam",
    "ResourceSpec",
    "ScoringStrategy",
    "UtilizationShapePoint",
    "VolumeBindingArgs",
    "decode_plugin_args",
]
