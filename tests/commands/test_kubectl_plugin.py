"""Muster as a plugin of kubectl: how its usage and errors name it."""

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

_PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def test_usage_and_errors_name_the_command_as_people_call_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, _, function = _PROJECT["scripts"]["kubectl-muster"].partition(":")
    monkeypatch.setattr("sys.argv", ["/usr/local/bin/kubectl-muster", "hold"])
    with pytest.raises(SystemExit) as ended:
        getattr(import_module(module), function)()
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[:2] == [
        "Usage: kubectl muster hold [OPTIONS] [podgroup|compositepodgroup] NAME",
        "Try 'kubectl muster hold --help' for help.",
    ]
