"""Options and errors that subcommands share: kubectl's options for choosing a cluster, and the exit on bad input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import IO, Any

import click

from muster.framework.config import ConfigurationError
from muster.operator.explain.served import Leader
from muster.operator.kube.credentials import Connection, Impersonated, current_namespace, is_server_url, load_connection
from muster.operator.kube.errors import CredentialsError

from .completion_candidates import contexts, namespaces

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
    """Invalid input of the user, with one or several reasons."""

    exit_code = BAD_INPUT

    def __init__(self, *reasons: str) -> None:
        super().__init__("\n".join(reasons))
        self._reasons = reasons

    def show(self, file: IO[Any] | None = None) -> None:
        """Print each reason."""
        for reason in self._reasons:
            click.echo(f"Error: {reason}", err=True, file=file)


def errors_of(error: ConfigurationError) -> list[str]:
    """All errors of a configuration, each with the name of its file."""
    return [f"{error.source}: {problem}" if error.source else str(problem) for problem in error.errors]


@contextmanager
def bad_input() -> Iterator[None]:
    """Report errors in files and configuration by a message and exit code 2."""
    try:
        yield
    except ConfigurationError as error:
        raise BadInputError(*errors_of(error)) from error
    except CredentialsError as error:
        raise BadInputError(str(error)) from error
    except OSError as error:
        if error.filename is None:
            raise
        raise BadInputError(f"{error.filename}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster that a command reads, and the user whose rights it uses."""

    kubeconfig: Path | None = None
    context: str | None = None
    impersonated: Impersonated | None = None

    def connection(self) -> Connection:
        """The connection to the cluster. Raises CredentialsError."""
        return load_connection(self.kubeconfig, context=self.context, impersonated=self.impersonated)

    def namespace(self, named: str | None) -> str:
        """The namespace that was named, or the context's. Raises CredentialsError."""
        return named or current_namespace(self.kubeconfig, context=self.context)


one_namespace_option = click.option(
    "-n",
    "--namespace",
    metavar="NS",
    shell_complete=namespaces,
    help="Read pods and groups of this namespace alone. Default: of all.",
)
"""The option of commands that follow a cluster: the namespace to read, as `namespace`; None for all."""


def leader_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the address of Muster's leader to a command, which gets them as `leader`."""

    @wraps(command)
    def called(muster_url: str | None, muster_ca: Path | None, **rest: Any) -> None:
        if muster_url and not is_server_url(muster_url):
            raise click.BadParameter("not an http or https URL", param_hint="--muster-url")
        command(leader=Leader(muster_url, muster_ca) if muster_url else None, **rest)

    options = (
        click.option(
            "--muster-url",
            envvar="MUSTER_URL",
            metavar="URL",
            help="Where Muster serves: the leader is asked for its configuration where no --config is given, and "
            "about a pod when the cluster may not be read.",
        ),
        click.option(
            "--muster-ca",
            envvar="MUSTER_CA",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="The authority of its certificate. Default: the system's.",
        ),
    )
    decorated: Callable[..., None] = called
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def target_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add kubectl's options for the cluster and the user to a command, which gets them as `target`."""

    @wraps(command)
    def called(
        kubeconfig: Path | None, context_name: str | None, as_user: str | None, as_groups: tuple[str, ...], **rest: Any
    ) -> None:
        if as_groups and not as_user:
            raise click.UsageError("--as-group needs --as")
        other = Impersonated(as_user, as_groups) if as_user else None
        command(target=Target(kubeconfig, context_name, other), **rest)

    options = (
        kubeconfig_option,
        click.option("--context", "context_name", metavar="NAME", shell_complete=contexts, help="As kubectl's."),
        click.option("--as", "as_user", metavar="USER", help="Act as this user, as kubectl's."),
        click.option(
            "--as-group",
            "as_groups",
            multiple=True,
            metavar="GROUP",
            help="Act as a member of this group; with --as. May be repeated.",
        ),
    )
    decorated: Callable[..., None] = called
    for option in reversed(options):
        decorated = option(decorated)
    return decorated
