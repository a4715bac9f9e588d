"""AutoPodGroupsArgs: valid values, and invalid ones, which are refused with the path of the field."""

import pytest

from muster.framework.config import ConfigurationError
from muster.plugins.autopodgroups.args import AutoPodGroupsArgs
from muster.plugins.autopodgroups.plugin import AutoPodGroups
from tests.autopodgroups.world import World


def test_without_arguments_labelled_namespaces_get_groups_that_every_cluster_can_have() -> None:
    [plugin] = World(0).engine.plugins(AutoPodGroups)
    assert plugin.args == AutoPodGroupsArgs(namespaces="Labelled", api_group="scheduling.x-k8s.io")


@pytest.mark.parametrize(
    ("field", "value", "supported"),
    [
        ("namespaces", "Some", '"Labelled", "All"'),
        ("apiGroup", "scheduling.volcano.sh", '"scheduling.x-k8s.io", "scheduling.k8s.io"'),
    ],
)
def test_an_unknown_value_is_refused_with_the_known_ones(field: str, value: str, supported: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        World(0, args={field: value})
    assert [str(problem) for problem in refused.value.errors] == [
        f'profiles[0].pluginConfig[0].args.{field}: Unsupported value: "{value}": supported values: {supported}'
    ]
