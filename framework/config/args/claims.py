"""Arguments of DynamicResources."""

from collections.abc import Iterator

from muster.framework.config.args.base import PluginArgs
from muster.framework.config.durations import format_duration
from muster.framework.config.fields import Seconds
from muster.framework.config.problems import Problem, invalid


class DynamicResourcesArgs(PluginArgs):
    """How long to search a node for devices (0: without limit), and to wait for devices to become ready."""

    filter_timeout: Seconds = 10.0
    binding_timeout: Seconds = 600.0

    def problems(self, path: str) -> Iterator[Problem]:
        if self.filter_timeout < 0:
            yield invalid(f"{path}.filterTimeout", format_duration(self.filter_timeout), "must be zero or positive")
        if self.binding_timeout < 1:
            yield invalid(f"{path}.bindingTimeout", format_duration(self.binding_timeout), "must be at least 1 second")
