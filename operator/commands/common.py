"""What subcommands share: options, and the way bad input ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from muster.framework.config import ConfigurationError
from muster.operator.kube.errors import CredentialsError

BAD_INPUT = 2

kubeconfig_option = click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Credentials for the cluster. Default: where kubectl finds them, or the pod's service account.",
)
config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A KubeSchedulerConfiguration (v1), as YAML or JSON.",
)


class BadInputError(click.ClickException):
    """The user asked for something that cannot be done."""

    exit_code = BAD_INPUT


@contextmanager
def bad_input() -> Iterator[None]:
    """Turn what is wrong with files and configuration into a message and exit code 2."""
    try:
        yield
    except (ConfigurationError, CredentialsError) as error:
        raise BadInputError(str(error)) from error
    except OSError as error:
        if error.filename is None:
            raise
        raise BadInputError(f"{error.filename}: {error.strerror}") from error
