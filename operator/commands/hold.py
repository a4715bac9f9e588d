"""`muster hold`: keep the pods of a group from being started."""

from __future__ import annotations

import time
from functools import partial

import click

from muster.operator.podgroups.holding import hold

from .one_group import OneGroup, one_group_options


@click.command("hold")
@click.option("--reason", default="", metavar="TEXT", help="Why. Shown wherever it is said why the pods wait.")
@one_group_options
def command(*, group: OneGroup, reason: str) -> None:
    """Hold a PodGroup or a CompositePodGroup: none of its pods is started until it is resumed.

    Pods that are bound already are left alone. Takes a name, or a kind and a name as kubectl does: pg NAME, pg/NAME. A
    bare name is a PodGroup. Holding a group once more replaces the reason.

    Needs the rights to get and patch the group, and writes annotations of it.
    """
    kind = group.ask(partial(hold, reason=reason, now=time.time()))
    click.echo(f"{group.title(kind)} held")
