"""The public surface for plugin authors: the names that the public packages export, and no others.

Muster's own plugins keep to them, so whatever they do the plugin of somebody else can do as well.
"""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from muster.framework import contract
from muster.framework.contract.plugin import POINTS

_COMMON = frozenset(
    {"Any", "Args", "Callable", "Generator", "Hashable", "Iterable", "Iterator", "Mapping", "None", "Sequence", "T"}
)
_EXTENDED = sorted(
    name
    for name, found in vars(contract).items()
    if name in contract.__all__ and inspect.isclass(found) and issubclass(found, contract.Plugin)
)


def test_each_exported_name_exists_once() -> None:
    assert len(contract.__all__) == len(set(contract.__all__))
    assert [name for name in contract.__all__ if not hasattr(contract, name)] == []


def test_every_extension_point_is_exported() -> None:
    assert [base.__name__ for base in POINTS.values() if base.__name__ not in contract.__all__] == []


@pytest.mark.parametrize("name", _EXTENDED)
def test_names_that_an_author_has_to_spell_are_exported(name: str) -> None:
    methods = [function for _, function in inspect.getmembers(getattr(contract, name), inspect.isfunction)]
    texts = [text for method in methods for text in method.__annotations__.values()]
    words = {word for text in texts for word in re.findall(r"[A-Z]\w+", text)}

    assert words - _COMMON <= {*contract.__all__}


PLUGINS = Path(__file__).parents[2] / "plugins"
PUBLIC = {
    f"muster.framework.{name}"
    for name in ("authoring", "contract", "contract.arguments", "contract.columns", "contract.recorded", "groups")
}
MODEL = "muster.framework.model."


@pytest.mark.parametrize(
    "path", sorted({*PLUGINS.glob("*/**/*.py")}), ids=lambda path: path.relative_to(PLUGINS).as_posix()
)
def test_a_plugin_of_ours_imports_public_names_only(path: Path) -> None:
    imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    named = [(node.module or "", alias.name) for node in imports for alias in node.names if not node.level]
    ours = [each for each in named if each[0].startswith("muster.framework") and not each[0].startswith(MODEL)]
    assert [each for each in ours if each[0] not in PUBLIC or each[1] not in exported(each[0])] == []


def exported(module: str) -> list[str]:
    """The names in a public module that authors may import."""
    found: list[str] = import_module(module).__all__
    return found
