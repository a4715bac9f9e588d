"""Arguments of kube-scheduler's own plugins: a model each, with kube-scheduler's defaults and validation.

What belongs here: the shape and the rules of `pluginConfig[].args`. What does not: arguments of any other plugin, which
declares its own model as `args_model`.
"""

from muster.framework.config.args.affinity import InterPodAffinityArgs, NodeAffinityArgs
from muster.framework.config.args.base import PluginArgs
from muster.framework.config.args.claims import DynamicResourcesArgs
from muster.framework.config.args.preemption import DefaultPreemptionArgs
from muster.framework.config.args.resources import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
)
from muster.framework.config.args.shape import UtilizationShapePoint
from muster.framework.config.args.spread import PodTopologySpreadArgs, TopologySpreadConstraint
from muster.framework.config.args.table import API_VERSION, ARGS_MODELS, decode_plugin_args
from muster.framework.config.args.volumes import VolumeBindingArgs

__all__ = [
    "API_VERSION",
    "ARGS_MODELS",
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
    "TopologySpreadConstraint",
    "UtilizationShapePoint",
    "VolumeBindingArgs",
    "decode_plugin_args",
]
