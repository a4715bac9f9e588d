"""Which plugin takes which arguments, and how raw arguments become a model.

`pluginConfig` entries of the plugins in ARGS_MODELS are decoded while the configuration is read. Arguments of any other
plugin stay plain values until the plugin is known; `resolve` then passes them through `decode_plugin_args`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticCustomError

from muster.framework.config.args.models import (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    PluginArgs,
    PodTopologySpreadArgs,
    VolumeBindingArgs,
)
from muster.framework.config.args.resources import NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs
from muster.framework.config.decoding import decode
from muster.framework.config.problems import ConfigurationError, invalid

Model = TypeVar("Model", bound=BaseModel)

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
MISMATCH: Final = "has to match plugin args"

ARGS_MODELS: Final[Mapping[str, type[PluginArgs]]] = MappingProxyType(
    {
        "DefaultPreemption": DefaultPreemptionArgs,
        "DynamicResources": DynamicResourcesArgs,
        "InterPodAffinity": InterPodAffinityArgs,
        "NodeAffinity": NodeAffinityArgs,
        "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
        "NodeResourcesFit": NodeResourcesFitArgs,
        "PodTopologySpread": PodTopologySpreadArgs,
        "VolumeBinding": VolumeBindingArgs,
    }
)


def known_args(name: str, value: object, context: object = None) -> object:
    """`value` as the model of plugin `name`, or unchanged for plugins that are not in ARGS_MODELS.

    Runs inside of a validator, whose context it passes on: raises pydantic's errors, whose places pydantic extends to
    places in the document.
    """
    model = ARGS_MODELS.get(name)
    if model is None or isinstance(value, model):
        return value
    if not _names_match(name, value):
        raise PydanticCustomError("mismatched_args", MISMATCH)
    return model.model_validate(_without_type(value), by_alias=True, by_name=False, context=context)


def decode_plugin_args(model: type[Model], value: object, *, name: str, path: str) -> Model:
    """The raw arguments of plugin `name` (None when absent) as the plugin's own model.

    `apiVersion` and `kind` may be there and are not passed on; a kind has to be the plugin's name followed by `Args`.
    Raises ConfigurationError with every fault, each with its place below `path`; those of the values are found only
    when all can be decoded.
    """
    if not _names_match(name, value):
        raise ConfigurationError([invalid(path, value, MISMATCH)])
    args, problems = decode(model, _without_type(value), path=path)
    if args is None:
        raise ConfigurationError(problems)
    if isinstance(args, PluginArgs) and (faults := list(args.problems(path))):
        raise ConfigurationError(faults)
    return args


def _names_match(name: str, value: object) -> bool:
    if not isinstance(value, Mapping):
        return True
    return value.get("apiVersion") in (None, "", API_VERSION) and value.get("kind") in (None, "", f"{name}Args")


def _without_type(value: object) -> object:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return {key: item for key, item in value.items() if key not in ("apiVersion", "kind")}
    return value
