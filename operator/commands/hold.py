"""`muster hold`: keep the pods of a group from being started."""

from __future__ import annotations

import time
from functools import partial

import click

from muster.operator.podgroups.hold_writer import hold

from .one_group import OneGroup, one_group_options


@click.command("hold")
@click.option("--reason", metavar="TEXT", help="Why. Shown wherever it is said why the pods wait.")
@one_group_options
def command(*, group: OneGroup, reason: str | None) -> None:
    """Hold a PodGroup or a CompositePodGroup: none of its pods is started until it is resumed.

    Pods that are bound already are left alone. Takes a name, or a kind and a name as kubectl does: pg NAME, pg/NAME. A
    bare name is a PodGroup. A group that is held already keeps its reason unless a new one is given.

    Needs the rights to get and patch the group, and writes annotations of it.
    """
    kind, before = group.ask(partial(hold, reason=reason, now=time.time()))
    title = group.title(kind)
    if before is not None and reason is None:
        click.echo(before.sentence(title, already=True))
    else:
        click.echo(f"{title} held" + (f" (was: {before.reason})" if before is not None and before.reason else ""))
