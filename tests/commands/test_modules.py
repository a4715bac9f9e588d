"""The package of subcommands tells readers which of its modules are none."""

import pkgutil
import re

import click

from muster.operator import commands
from muster.operator.cli import main


def test_each_module_is_a_subcommand_or_is_named_in_the_docstring_of_the_package() -> None:
    modules = {module.name for module in pkgutil.iter_modules(commands.__path__)}
    subcommands = set(main.list_commands(click.Context(main)))

    helpers = (commands.__doc__ or "").partition("no subcommands:")[2]

    assert set(re.findall(r"`(\w+)`", helpers)) - subcommands == modules - subcommands
