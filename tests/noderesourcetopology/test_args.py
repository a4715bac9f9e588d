"""The plugin's arguments: those of scheduler-plugins are taken as they are, and what is wrong with them is named."""

import pytest

from muster.framework.config import ConfigurationError, load, resolve
from muster.plugins.catalog import DEFAULTS, IN_TREE, KNOWN_UNIMPLEMENTED, extension_points
from muster.plugins.noderesourcetopology.args import NodeResourceTopologyMatchArgs
from muster.plugins.noderesourcetopology.plugin import NodeResourceTopologyMatch

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: muster
    plugins:
      filter: {enabled: [{name: NodeResourceTopologyMatch}]}
      score: {enabled: [{name: NodeResourceTopologyMatch}]}
      reserve: {enabled: [{name: NodeResourceTopologyMatch}]}
    pluginConfig:
      - name: NodeResourceTopologyMatch
        args:
          apiVersion: kubescheduler.config.k8s.io/v1
          kind: NodeResourceTopologyMatchArgs
"""
EVERY = (
    "cacheResyncPeriodSeconds: 5",
    "discardReservedNodes: false",
    "scoringStrategy: {type: LeastNUMANodes, resources: [{name: cpu, weight: 3}]}",
    "cache: {foreignPodsDetect: OnlyExclusiveResources, resyncMethod: All, informerMode: Shared, resyncScope: All}",
)


def arguments(*lines: str) -> NodeResourceTopologyMatchArgs:
    """The arguments of the plugin in a profile where they consist of these lines."""
    found = load((CONFIGURATION + "".join(f"          {line}\n" for line in lines)).encode(), "configuration.yaml")
    [profile] = resolve(
        found,
        defaults=DEFAULTS,
        extends={name: extension_points(plugin) for name, plugin in IN_TREE.items()},
        args_models={name: plugin.args_model for name, plugin in IN_TREE.items() if plugin.args_model is not None},
        known_unimplemented=KNOWN_UNIMPLEMENTED,
    )
    args = profile.args[NodeResourceTopologyMatch.name]
    assert isinstance(args, NodeResourceTopologyMatchArgs)
    return args


def test_a_configuration_of_scheduler_plugins_is_taken_as_it_is() -> None:
    args = arguments(*EVERY)
    assert args.scoring_strategy.type == "LeastNUMANodes"
    assert args.cache.foreign_pods_detect == "OnlyExclusiveResources"


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ("scoringStrategy: {type: Most}", "scoringStrategy.type: Unsupported value"),
        ("cache: {foreignPodsDetect: Some}", "cache.foreignPodsDetect: Unsupported value"),
        ("cache: {resyncMethod: Some}", "cache.resyncMethod: Unsupported value"),
        ("cache: {informerMode: Some}", "cache.informerMode: Unsupported value"),
        ("cache: {resyncScope: Some}", "cache.resyncScope: Unsupported value"),
        ("discardReservedNodes: 1", "discardReservedNodes"),
    ],
)
def test_faults_of_arguments_are_named(args: str, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault):
        arguments(args)
