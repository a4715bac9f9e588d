"""The packages in editors: `muster.*` is found in a fresh clone after `make venv`.

Editors do not follow an editable install whose folders and import names differ, so `make venv` links the rooms under
their import names, where pyright and Pylance look by `pyrightconfig.json`.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.tooling.test_make import recipe
from tests.tooling.test_packaging import FOLDERS, REPOSITORY

PYRIGHT: dict[str, Any] = json.loads((REPOSITORY / "pyrightconfig.json").read_text())
VSCODE: dict[str, Any] = json.loads((REPOSITORY / ".vscode" / "settings.json").read_text())


def test_make_venv_links_every_top_level_package_for_editors(tmp_path: Path) -> None:
    for command in recipe("venv", "--always-make"):
        if command.startswith(("mkdir -p", "ln -s")):
            subprocess.run(command, shell=True, cwd=tmp_path, check=True)

    [searched] = PYRIGHT["extraPaths"]
    found = {link.name: link.readlink().as_posix() for link in (tmp_path / searched / "muster").iterdir()}
    assert found == {package: f"../../../{package}" for package in FOLDERS}


def test_editors_take_the_interpreter_that_make_venv_installs_into() -> None:
    python = f"{PYRIGHT['venv']}/bin/python"
    assert VSCODE["python.defaultInterpreterPath"] == f"${{workspaceFolder}}/{python}"
    assert any(command.startswith(f"{python} -m pip install") for command in recipe("venv", "--always-make"))


def test_editors_read_every_folder_of_the_repository_that_holds_modules() -> None:
    folders = [path for path in REPOSITORY.iterdir() if path.is_dir() and not path.name.startswith(".")]
    holding = {folder.name for folder in folders if any(folder.rglob("*.py"))}
    assert holding - set(PYRIGHT["exclude"]) == set(PYRIGHT["include"])
