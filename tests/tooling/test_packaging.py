"""The contents of an installed Muster: every module of the five folders, each under one name."""

import ast
import runpy
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("framework", "operator", "plugins", "sandbox", "testing")


@pytest.fixture
def setup_arguments(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The arguments that setup.py passes to setuptools."""
    monkeypatch.chdir(REPOSITORY)
    with patch("setuptools.setup") as setup:
        runpy.run_path("setup.py")
    return dict(setup.call_args.kwargs)


def test_setup_finds_every_folder_that_holds_a_module(setup_arguments: dict[str, Any]) -> None:
    folders = {module.parent.relative_to(REPOSITORY) for top in FOLDERS for module in (REPOSITORY / top).rglob("*.py")}
    assert {f"muster.{'.'.join(folder.parts)}" for folder in folders} <= set(setup_arguments["packages"])


def test_setup_takes_every_file_that_is_no_module_along(setup_arguments: dict[str, Any]) -> None:
    patterns = setup_arguments["package_data"][""]
    forgotten = [
        path.relative_to(REPOSITORY)
        for top in FOLDERS
        for path in (REPOSITORY / top).rglob("*.*")
        if path.is_file()
        and path.suffix not in (".py", ".pyc")
        and not any(path.match(pattern) for pattern in patterns)
    ]
    assert forgotten == []


def test_the_operator_folder_does_not_shadow_the_standard_library() -> None:
    assert not (REPOSITORY / "operator" / "__init__.py").exists()
    spec = find_spec("operator")
    assert spec is not None
    assert spec.origin is not None
    assert not Path(spec.origin).is_relative_to(REPOSITORY)


@pytest.mark.parametrize("top", ["framework", "plugins", "sandbox"])
def test_a_folder_has_its_import_name_only(top: str) -> None:
    """In the repository root `import framework` works too, and would make every class of the engine exist twice."""
    wrong = [
        path.relative_to(REPOSITORY)
        for folder in (*FOLDERS, "tests", "bench")
        for path in (REPOSITORY / folder).rglob("*.py")
        for name in imported_names(path)
        if name.partition(".")[0] == top
    ]
    assert wrong == []


def imported_names(path: Path) -> Iterator[str]:
    """The modules that a file imports by absolute name."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""
