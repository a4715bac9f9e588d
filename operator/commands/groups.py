"""`muster groups`: PodGroups, and what each lacks."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from muster.framework.contract import GroupView
from muster.operator.explain.groups import group_row, group_titles, resource_name
from muster.operator.explain.layout import Columns
from muster.operator.explain.reading import GroupDocument, Selected, follow_groups, list_groups, read_documents
from muster.operator.kube.errors import ApiError
from muster.operator.podgroups.membership import GroupKinds
from muster.plugins.catalog import group_kinds

from . import completion_candidates
from .common import Target, bad_input, target_options
from .output import Output, emit, output_option

T = TypeVar("T")


@click.command("groups")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=completion_candidates.groups)
@click.option(
    "-n", "--namespace", metavar="NS", shell_complete=completion_candidates.namespaces, help="Only this namespace."
)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="All namespaces.")
@click.option("-l", "--selector", default="", metavar="SELECTOR", help="Only those with these labels, as kubectl's.")
@click.option("-w", "--watch", is_flag=True, help="Then print each group that changes, until Ctrl-C.")
@output_option(Output.WIDE, Output.YAML, Output.JSON, Output.NAME)
@target_options
def command(
    *,
    target: Target,
    names: Sequence[str],
    namespace: str | None,
    everywhere: bool,
    selector: str,
    watch: bool,
    output: Output,
) -> None:
    """List PodGroups: how many pods each needs and has, and why it waits."""
    if names and (everywhere or selector):
        raise click.UsageError("a NAME goes neither with -A nor with -l")
    if watch and output.document:
        raise click.UsageError(f"-w prints lines: it does not go with -o {output}")
    with bad_input():
        connection = target.connection()
        space = None if everywhere else target.namespace(namespace)
    kinds, selected, wide = GroupKinds(group_kinds()), Selected(space, selector), output is Output.WIDE
    try:
        if output.document:
            _emit(asyncio.run(read_documents(connection, kinds, selected)), names, output, _title(kinds))
            return
        printer = _Printer(output, names, space, _title(kinds))
        if watch:
            # A shell starts background jobs with SIGINT ignored, and Python then leaves it so.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            with contextlib.suppress(KeyboardInterrupt):
                asyncio.run(follow_groups(connection, kinds, selected, printer.show, places=wide))
        else:
            printer.show(asyncio.run(list_groups(connection, kinds, selected, places=wide)))
    except ApiError as error:
        raise click.ClickException(str(error)) from error


def _emit(documents: Sequence[GroupDocument], names: Sequence[str], output: Output, title: str) -> None:
    """Print groups as the API returns them. Raises ClickException if a named group does not exist."""
    items = [each.body for each in _named(documents, names, lambda document: document.name, title)]
    emit({"apiVersion": "v1", "kind": "List", "items": items}, output)


def _title(kinds: GroupKinds) -> str:
    """The resource in messages about named groups that do not exist."""
    first = next(iter(kinds)).objects
    return f"{first.plural}.{first.group}"


def _named(found: Sequence[T], names: Sequence[str], name_of: Callable[[T], str], title: str) -> Sequence[T]:
    """The groups with these names, of any kind, in this order; all groups without names."""
    if not names:
        return found
    chosen = [each for name in names for each in found if name_of(each) == name]
    missing = next((name for name in names if name not in {name_of(each) for each in chosen}), None)
    if missing is not None:
        raise click.ClickException(f'{title} "{missing}" not found')
    return chosen


class _Printer:
    """Prints groups in one format; in a watch, at each change."""

    def __init__(self, output: Output, names: Sequence[str], namespace: str | None, title: str) -> None:
        self._output = output
        self._names = names
        self._namespace = namespace
        self._title = title
        self._columns = Columns(*group_titles(everywhere=namespace is None, wide=output is Output.WIDE))
        self._began = False
        self._printed: dict[str, GroupView] = {}

    def show(self, groups: Sequence[GroupView]) -> None:
        """Print each group that has changed since it was printed, and each deleted group once more, as kubectl does.

        Raises ClickException if a group that was named does not exist at the first call.
        """
        if not self._began:
            self._began = True
            groups = _named(groups, self._names, lambda group: group.metadata.name, self._title)
            self._begin(groups)
        here = {each.metadata.uid: each for each in groups if not self._names or each.metadata.name in self._names}
        for gone in [uid for uid in self._printed if uid not in here]:
            self._print(self._printed.pop(gone))
        for uid, group in here.items():
            before = self._printed.get(uid)
            if before is None or _version(before) != _version(group):
                self._printed[uid] = group
                self._print(group)

    def _print(self, group: GroupView) -> None:
        if self._output is Output.NAME:
            click.echo(resource_name(group.kind.objects, group.metadata.name))
        else:
            click.echo(self._columns.line(self._row(group)))

    def _begin(self, groups: Sequence[GroupView]) -> None:
        if not groups:
            where = f" in {self._namespace} namespace" if self._namespace else ""
            click.echo(f"No resources found{where}.", err=True)
        elif self._output is not Output.NAME:
            self._columns.fit([self._row(group) for group in groups])
            click.echo(self._columns.head())

    def _row(self, group: GroupView) -> tuple[str, ...]:
        wide = self._output is Output.WIDE
        return group_row(group, everywhere=self._namespace is None, wide=wide, now=time.time())


def _version(group: GroupView) -> object:
    """A version that changes whenever a group has something new to show."""
    return group.metadata.resource_version, group.status, group.place
