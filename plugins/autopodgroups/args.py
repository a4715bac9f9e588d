"""Arguments of the AutoPodGroups plugin."""

from __future__ import annotations

from collections.abc import Iterator

from muster.framework.contract.arguments import PluginArgs, Problem, Text, unsupported

LABELLED = "Labelled"
ALL = "All"
NAMESPACES = (LABELLED, ALL)
API_GROUPS = ("scheduling.x-k8s.io", "scheduling.k8s.io")


class AutoPodGroupsArgs(PluginArgs):
    """Which workloads get PodGroups, and of which kind.

    Attributes:
        namespaces: `Labelled` for those of namespaces with the label `muster-scheduler.io/auto-pod-groups: "true"`;
            `All` for those of all namespaces but the ones where the label is "false".
        api_group: the API group of the PodGroups; where the API does not serve it, PodGroups of the other one are
            created.
    """

    namespaces: Text = LABELLED
    api_group: Text = API_GROUPS[0]

    def problems(self, path: str) -> Iterator[Problem]:
        """The problems with the values; `path` is where the arguments stand."""
        if self.namespaces not in NAMESPACES:
            yield unsupported(f"{path}.namespaces", self.namespaces, NAMESPACES)
        if self.api_group not in API_GROUPS:
            yield unsupported(f"{path}.apiGroup", self.api_group, API_GROUPS)
