"""The group that a command changes: its arguments and options, and the connection for the change.

`muster hold` and `muster resume` use it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click

from muster.framework.contract import WatchedKind
from muster.operator.explain.groups import resource_name
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import ApiError
from muster.operator.kube.transport import Transport
from muster.operator.podgroups.hold_writer import NamedGroup
from muster.operator.podgroups.membership import GroupKinds
from muster.plugins.catalog import group_kinds

from . import completion_candidates
from .common import Target, bad_input, target_options

T = TypeVar("T")

_KIND_AND_NAME = 2


@dataclass(frozen=True, slots=True)
class OneGroup:
    """The named group, and the connection to its cluster."""

    connection: Connection
    named: NamedGroup

    def ask(self, act: Callable[[ApiClient, NamedGroup], Awaitable[T]]) -> T:
        """The result of `act`. Raises ClickException if the API refuses a request."""

        async def answered() -> T:
            async with Transport(self.connection) as transport:
                return await act(ApiClient(transport), self.named)

        try:
            return asyncio.run(answered())
        except ApiError as error:
            raise click.ClickException(str(error)) from error

    def title(self, kind: WatchedKind) -> str:
        """The name of the group as kubectl prints it."""
        return resource_name(kind, self.named.name)


def one_group_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments and options that name a group to a command, which gets them as `group`."""

    @wraps(command)
    def called(target: Target, words: Sequence[str], namespace: str | None, **rest: Any) -> None:
        kinds, name = _kinds_and_name(words)
        with bad_input():
            group = OneGroup(target.connection(), NamedGroup(target.namespace(namespace), name, kinds))
        command(group=group, **rest)

    options = (
        click.argument(
            "words",
            metavar="[podgroup|compositepodgroup] NAME",
            nargs=-1,
            required=True,
            shell_complete=completion_candidates.groups_and_trees,
        ),
        click.option(
            "-n",
            "--namespace",
            metavar="NS",
            shell_complete=completion_candidates.namespaces,
            help="Where it is. Default: the context's namespace.",
        ),
        target_options,
    )
    decorated: Callable[..., None] = called
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def _kinds_and_name(words: Sequence[str]) -> tuple[list[WatchedKind], str]:
    """The kinds that the words may name, and the name. Raises UsageError."""
    kind, _, name = "/".join(words).rpartition("/")
    if len(words) > _KIND_AND_NAME or not name:
        raise click.UsageError("give one NAME")
    known = GroupKinds(group_kinds())
    trees = [each.composites for each in known.of_composites(kind) if each.composites is not None]
    found = trees or [each.objects for each in known.named(kind)]
    if not found:
        raise click.UsageError(f"a {kind} is no PodGroup or CompositePodGroup")
    return found, name
