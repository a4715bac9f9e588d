"""`muster plugin`: a package with the beginning of a new plugin."""

from __future__ import annotations

import re
from pathlib import Path

import click

from muster.operator.versions import own
from muster.plugins.catalog import known

from .common import BadInputError, bad_input
from .scaffold import POINTS, Scaffold

_NAME = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")


@click.group("plugin")
def command() -> None:
    """Write plugins."""


@command.command("new")
@click.argument("name")
@click.option(
    "--extends",
    "points",
    multiple=True,
    type=click.Choice(POINTS),
    help="What the plugin does: keep pods off nodes, or prefer nodes. May be repeated. Default: both.",
)
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where to write the package; must be new or empty. Default: muster-NAME here.",
)
def new(name: str, points: tuple[str, ...], directory: Path | None) -> None:
    """Write a package with the plugin NAME, such as NodeTier.

    It is a complete plugin that goes by a label of nodes, with tests, a configuration that enables it, and a README.
    It can be installed, tested and run in the sandbox as it is, and then changed step by step.
    """
    if not _NAME.fullmatch(name):
        raise BadInputError(
            f'"{name}" is no name for a plugin: it begins with a capital and has only letters and digits'
        )
    if owner := known().get(name):
        raise BadInputError(f'{owner} has a plugin "{name}" already')
    scaffold = Scaffold(name, points or POINTS, own().removeprefix("v"))
    folder = directory or Path(scaffold.package)
    with bad_input():
        if folder.exists() and any(folder.iterdir()):
            raise BadInputError(f"{folder}: is not empty")
        for path, text in scaffold.files().items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    click.echo(f"wrote {folder}")
    for purpose, commands in (
        (
            "Install and test it",
            (f"cd {folder}", "pip install -e '.[test]'", "pytest", "muster config check config.yaml"),
        ),
        ("Try it on an embedded cluster, in three terminals in that folder", scaffold.on_a_sandbox),
    ):
        click.echo("\n".join((f"\n{purpose}:\n", *(f"  {command}" for command in commands))))
