"""The command line: `muster`, whose subcommands live in `muster.operator.commands`.

Subcommands are loaded when they are named, so that `muster --help` does not wait for all that they import.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any

import click

_SUBCOMMANDS = {
    "demo": "See Muster at work on an embedded cluster; no cluster of your own is needed.",
    "run": "Schedule pods until stopped.",
    "why": "Show what a pod or a PodGroup waits for.",
    "groups": "List PodGroups with what each lacks.",
    "quotas": "List ElasticQuotas with what is used and borrowed.",
    "top": "Show queue and groups in the terminal, and why each waits.",
    "web": "Show queue, nodes and reasons in a browser.",
    "hold": "Keep the pods of a PodGroup from being started.",
    "resume": "Let the pods of a held PodGroup be started again.",
    "explain": "Show why a pod is placed on its node, or why no node fits.",
    "sandbox": "Serve an embedded Kubernetes API to try things on.",
    "replay": "Decide a recording again, and show what is decided differently.",
    "defrag": "Propose pods to move so that what waits starts, or nodes become free.",
    "simulate": "Show whether pods and PodGroups would fit, and what is missing.",
    "config": "Check a configuration file before a scheduler runs with it.",
    "plugin": "Write a new plugin in a package of its own.",
    "completion": "Print the completion script for a shell.",
}


_FILES = 0
"""The directive with which kubectl's completion offers files."""
_NO_FILES = 4
"""The directive with which it offers no files."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class _Lazy(click.Group):
    """A group of commands that loads a subcommand from the module of its name."""

    def invoke(self, ctx: click.Context) -> Any:
        with _all_written():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _SUBCOMMANDS:
            return None
        name = f"muster.operator.commands.{cmd_name}"
        with nullcontext() if name in sys.modules else _quickly():
            command: click.Command = import_module(name).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            # click suggests only commands that are loaded.
            raise click.exceptions.NoSuchCommand(error.command_name, possibilities=_SUBCOMMANDS, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_SUBCOMMANDS.items()))


@contextmanager
def _quickly() -> Iterator[None]:
    """Load modules in half the time: without garbage collection, because modules stay, and without `kubernetes`.

    kopf would import the whole Kubernetes client in order to recognize one of its classes. While this is in effect, an
    import of `kubernetes` raises ImportError, so no command may import it at module level.
    """
    kept_out = "kubernetes" not in sys.modules
    if kept_out:
        sys.modules["kubernetes"] = None  # type: ignore[assignment]  # an import then raises ImportError
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        if kept_out:
            del sys.modules["kubernetes"]


@contextmanager
def _all_written() -> Iterator[None]:
    """Exit as other programs do if standard output is closed or full.

    If the reader has gone, the process ends as by SIGPIPE; if the disk is full, with a message and exit code 1.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    except OSError as error:
        if error.filename is not None or error.errno not in _NO_ROOM:
            raise
        _discard_output()
        raise click.ClickException(f"standard output cannot be written: {error.strerror}") from error


def _discard_output() -> None:
    """Send further output nowhere, so that the interpreter does not try once more as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="muster-scheduler", prog_name="muster")
def main() -> None:
    """Muster, a Kubernetes scheduler that starts gangs whole and explains itself.

    Pods choose it with `schedulerName: muster`. It decides as kube-scheduler 1.37 does, reads kube-scheduler's
    configuration unchanged, and places the pods of a PodGroup together or not at all.

    Exit codes: 0 fine; 1 failed, or the answer is no: it does not fit, the file has errors, a decision differs; 2 usage
    or bad input.
    """


def main_for_kubectl() -> None:
    """`kubectl-muster`, which people call as `kubectl muster`: usage and errors name it so."""
    main(prog_name="kubectl muster")


def complete_for_kubectl() -> None:
    """`kubectl_complete-muster`: kubectl runs it with the words after `kubectl muster` and reads the candidates."""
    from click.shell_completion import ShellComplete

    from muster.operator.commands.completion import VARIABLE

    *before, incomplete = sys.argv[1:] or [""]
    found = ShellComplete(main, {}, "kubectl muster", VARIABLE).get_completions(before, incomplete)
    names = [item for item in found if item.type == "plain"]
    for item in names:
        click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
    click.echo(f":{_FILES if len(names) < len(found) else _NO_FILES}")
