"""`muster completion`: shell completion, for `muster` and for `kubectl muster`."""

from __future__ import annotations

import sys

import click
from click.shell_completion import ShellComplete, get_completion_class

_VARIABLE = "_MUSTER_COMPLETE"
_FILES = 0
"""What kubectl's completion takes as "offer files"."""
_NO_FILES = 4
"""What it takes as "these are all, do not offer files"."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    For example: source <(muster completion bash). kubectl completes `kubectl muster` by itself.
    """
    root = context.find_root().command
    found = get_completion_class(shell)
    if found is None:
        raise click.ClickException(f"no completion for {shell}")
    click.echo(found(root, {}, "muster", _VARIABLE).source())


def complete_for_kubectl() -> None:
    """`kubectl_complete-muster`: kubectl runs it with the words after `kubectl muster` and reads the candidates."""
    from muster.operator.cli import main

    *before, incomplete = sys.argv[1:] or [""]
    found = ShellComplete(main, {}, "kubectl muster", _VARIABLE).get_completions(before, incomplete)
    names = [item for item in found if item.type == "plain"]
    for item in names:
        click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
    click.echo(f":{_FILES if len(names) < len(found) else _NO_FILES}")
