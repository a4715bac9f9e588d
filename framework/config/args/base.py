"""PluginArgs: the base of the argument models of plugins: kube-scheduler's own, and others that check values."""

from collections.abc import Iterator

from muster.framework.config.fields import ConfigModel
from muster.framework.config.problems import Problem


class PluginArgs(ConfigModel):
    """Arguments of one plugin. Absent fields hold kube-scheduler's defaults."""

    def problems(self, path: str) -> Iterator[Problem]:
        """What is wrong with the values; `path` is where the arguments stand. Nothing unless a model says so."""
        yield from ()
