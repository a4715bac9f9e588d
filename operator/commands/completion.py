"""`muster completion`: shell completion, for `muster` and for `kubectl muster`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

VARIABLE = "_MUSTER_COMPLETE"
"""The environment variable by which the shell's script calls `muster`."""


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
    click.echo(found(root, {}, "muster", VARIABLE).source())
