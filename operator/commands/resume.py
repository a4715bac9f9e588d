"""`muster resume`: let the pods of a held group be started again."""

from __future__ import annotations

import click

from muster.operator.podgroups.hold_writer import resume

from .one_group import OneGroup, one_group_options


@click.command("resume")
@one_group_options
def command(*, group: OneGroup) -> None:
    """Resume a PodGroup or a CompositePodGroup that is held: its pods are tried at once.

    Takes a name, or a kind and a name as kubectl does: pg NAME, pg/NAME. A bare name is a PodGroup. A group that is
    held only because a group above it is held stays so.

    Needs the rights to get and patch the group.
    """
    kind, was_held = group.ask(resume)
    click.echo(f"{group.title(kind)} {'resumed' if was_held else 'is not held'}")
