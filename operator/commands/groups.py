"""`muster groups`: PodGroups with what each lacks."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence

import click
import msgspec

from muster.operator.explain.groups import Selected, follow_groups, group_row, group_titles, list_groups, queue_places
from muster.operator.explain.layout import Columns
from muster.operator.kube.errors import ApiError
from muster.plugins.coscheduling.api import GROUP, KIND, PLURAL, PodGroup

from . import candidates
from .common import Target, bad_input, target_options
from .output import Output, emit, output_option


@click.command("groups")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=candidates.groups)
@click.option("-n", "--namespace", metavar="NS", shell_complete=candidates.namespaces, help="Only this namespace.")
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="All namespaces.")
@click.option("-l", "--selector", default="", metavar="SELECTOR", help="Only those with these labels, as kubectl's.")
@click.option("-w", "--watch", is_flag=True, help="Then print each group that changes, until Ctrl-C.")
@output_option(Output.WIDE, Output.YAML, Output.JSON, Output.NAME)
@target_options
def command(
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
    selected = Selected(space, selector)
    try:
        places = asyncio.run(queue_places(connection)) if output is Output.WIDE else {}
        printer = _Printer(output, names, places, everywhere=everywhere)
        printer.print_all(asyncio.run(list_groups(connection, selected)), space)
        if watch:
            with contextlib.suppress(KeyboardInterrupt):
                asyncio.run(follow_groups(connection, selected, printer.follow))
    except ApiError as error:
        raise click.ClickException(str(error)) from error


class _Printer:
    """Prints groups in one form, in a watch each version once."""

    def __init__(self, output: Output, names: Sequence[str], places: Mapping[str, int], *, everywhere: bool) -> None:
        self._output = output
        self._names = names
        self._places = places
        self._everywhere = everywhere
        self._columns = Columns(*group_titles(everywhere=everywhere, wide=output is Output.WIDE))
        self._printed: dict[str, str] = {}

    def print_all(self, groups: Sequence[tuple[msgspec.Raw, PodGroup]], namespace: str | None) -> None:
        """Print what there is. Raises ClickException when a group that was named is not there."""
        if self._names:
            of_name = {group.metadata.name: (raw, group) for raw, group in groups}
            for name in self._names:
                if name not in of_name:
                    raise click.ClickException(f'{PLURAL}.{GROUP} "{name}" not found')
            groups = [of_name[name] for name in self._names]
        if self._output.document:
            emit({"apiVersion": "v1", "kind": "List", "items": [raw for raw, _ in groups]}, self._output)
        elif not groups:
            where = f" in {namespace} namespace" if namespace else ""
            click.echo(f"No resources found{where}.", err=True)
        elif self._output is not Output.NAME:
            self._columns.fit([self._row(group) for _, group in groups])
            click.echo(self._columns.head())
        for _, group in groups:
            self.follow(group)

    def follow(self, group: PodGroup) -> None:
        """Print a group, unless this version of it was printed last."""
        meta = group.metadata
        if self._output.document or self._printed.get(meta.uid) == meta.resource_version:
            return
        if self._names and meta.name not in self._names:
            return
        self._printed[meta.uid] = meta.resource_version
        if self._output is Output.NAME:
            click.echo(f"{KIND.lower()}.{GROUP}/{meta.name}")
        else:
            click.echo(self._columns.line(self._row(group)))

    def _row(self, group: PodGroup) -> tuple[str, ...]:
        wide = self._output is Output.WIDE
        return group_row(group, everywhere=self._everywhere, wide=wide, now=time.time(), places=self._places)
