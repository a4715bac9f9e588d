"""Configuration: KubeSchedulerConfiguration v1, read unchanged from kube-scheduler's own YAML.

What belongs here: reading, checking and merging configuration, with kube-scheduler's defaults, rules and messages. What
does not: reading files, logging and making plugins. How it is used:

    configuration = load(text, "config.yaml")
    profiles = resolve(configuration, defaults=..., extends=...)

Both raise ConfigurationError, whose `errors` name every fault and its place.
"""

from muster.framework.config.args import ARGS_MODELS, decode_plugin_args
from muster.framework.config.document import read_documents
from muster.framework.config.durations import format_duration, parse_duration
from muster.framework.config.extenders import ExtenderConfig, ExtenderManagedResource, ExtenderTLSConfig
from muster.framework.config.load import default_configuration, load, read
from muster.framework.config.merge import Extends, PluginRef
from muster.framework.config.model import (
    ClientConnectionConfiguration,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginConfig,
    PluginReference,
    Plugins,
    PluginSet,
)
from muster.framework.config.points import POINTS
from muster.framework.config.problems import ConfigurationError, Problem, nearest
from muster.framework.config.resolve import ResolvedProfile, enabled_plugins, resolve

__all__ = [
    "ARGS_MODELS",
    "POINTS",
    "ClientConnectionConfiguration",
    "ConfigurationError",
    "ExtenderConfig",
    "ExtenderManagedResource",
    "ExtenderTLSConfig",
    "Extends",
    "KubeSchedulerConfiguration",
    "KubeSchedulerProfile",
    "LeaderElectionConfiguration",
    "PluginConfig",
    "PluginRef",
    "PluginReference",
    "PluginSet",
    "Plugins",
    "Problem",
    "ResolvedProfile",
    "decode_plugin_args",
    "default_configuration",
    "enabled_plugins",
    "format_duration",
    "load",
    "nearest",
    "parse_duration",
    "read",
    "read_documents",
    "resolve",
]
