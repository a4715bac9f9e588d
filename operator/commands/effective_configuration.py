"""The configuration by which a command decides: of a file, of the leader, or Muster's default.

`why`, `explain`, `simulate`, `top` and `web` get it from here. If neither a file nor a leader is named, the answer
comes with a warning, because the scheduler's configuration may be another one. Users whose scheduler has the default
profile say so by `default` instead of a file, or once for all commands in MUSTER_CONFIG.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from muster.framework.config import ConfigurationError, KubeSchedulerConfiguration
from muster.operator.explain.served import Leader, ask_configuration
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import ApiError
from muster.operator.process.settings import Assembly, assemble, read_configuration

_BY_DEFAULT = "Warning: decided by Muster's default profile, which may not be the scheduler's"
_DEFAULT = Path("default")
"""Instead of a file: the scheduler has the default profile."""
_config_option = click.option(
    "--config",
    envvar="MUSTER_CONFIG",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The scheduler's KubeSchedulerConfiguration (v1), as YAML or JSON; `default` for Muster's default profile.",
)
_no_extenders_option = click.option(
    "--no-extenders", is_flag=True, help="Do not ask the configuration's extenders, whatever they would say."
)


@dataclass(frozen=True, slots=True)
class EffectiveConfiguration:
    """The configuration that decides, and the warning that it may differ from the scheduler's; "" if it cannot."""

    assembly: Assembly
    caution: str = ""

    def warn(self) -> None:
        """Print the warning, if there is one. Call this once, after printing the answer that it is about."""
        sys.stdout.flush()
        if self.caution:
            click.echo(self.caution, err=True)


@dataclass(frozen=True, slots=True)
class ConfigurationOptions:
    """The user's choice of a configuration: a file or none, and optionally without extenders."""

    config: Path | None = None
    no_extenders: bool = False

    def rules(self, leader: Leader | None = None, connection: Connection | None = None) -> EffectiveConfiguration:
        """The configuration of the file, else of the leader, which is asked with `connection`, else the default.

        Raises ConfigurationError for an invalid file, and OSError for a file that cannot be read.
        """
        if self.config == _DEFAULT:
            return EffectiveConfiguration(self._assembled(read_configuration(None)))
        if self.config is not None:
            return EffectiveConfiguration(self._assembled(read_configuration(self.config), str(self.config)))
        if leader is None or connection is None:
            caution = (
                f"{_BY_DEFAULT}: give --config FILE, or --muster-url to ask the leader; "
                "if it is, MUSTER_CONFIG=default silences this"
            )
            return EffectiveConfiguration(self._assembled(read_configuration(None)), caution)
        try:
            return EffectiveConfiguration(self._assembled(asyncio.run(ask_configuration(leader, connection))))
        except (ApiError, ConfigurationError) as error:
            caution = f"{_BY_DEFAULT}; the leader's cannot be used: {error}"
            return EffectiveConfiguration(self._assembled(read_configuration(None)), caution)

    def _assembled(self, configuration: KubeSchedulerConfiguration, source: str = "") -> Assembly:
        assembly = assemble(configuration, source=source)
        if not self.no_extenders:
            return assembly
        return replace(assembly, configuration=assembly.configuration.model_copy(update={"extenders": ()}))


def configuration_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the configuration to a command, which gets them as `choice`."""

    @wraps(command)
    def called(config: Path | None, no_extenders: bool, **rest: Any) -> None:
        command(choice=ConfigurationOptions(config, no_extenders), **rest)

    return _config_option(_no_extenders_option(called))
