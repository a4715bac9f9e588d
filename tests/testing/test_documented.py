"""The code of docs/writing-plugins.md: its tests pass as they stand there, and its excerpts are in the examples."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
GUIDE = REPOSITORY / "docs" / "writing-plugins.md"
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
SHOWN = [block for block in BLOCKS if "def test_" in block]
EXCERPTS = re.findall(r"```python\n# (tests/examples/\S+)\n(.*?)```", GUIDE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def plugin() -> dict[str, Any]:
    """What the guide's first example defines."""
    names: dict[str, Any] = {}
    exec(BLOCKS[0], names)
    return names


def test_the_guide_shows_a_test_of_each_kind() -> None:
    assert [("VirtualScheduler" in block, "Cluster(" in block) for block in SHOWN] == [(False, True), (True, False)]


@pytest.mark.parametrize("block", SHOWN, ids=["cluster", "scheduler"])
async def test_a_test_that_the_guide_shows_passes(plugin: dict[str, Any], block: str) -> None:
    names = dict(plugin)
    exec(block, names)
    [test] = [shown for name, shown in names.items() if name.startswith("test_")]
    ended = test()
    if inspect.isawaitable(ended):
        await ended


def test_the_guide_shows_each_example() -> None:
    modules = {path.relative_to(REPOSITORY).as_posix() for path in REPOSITORY.glob("tests/examples/*/muster_*.py")}
    assert {path for path, _ in EXCERPTS} == modules


@pytest.mark.parametrize(("path", "excerpt"), EXCERPTS, ids=[f"excerpt-{index}" for index in range(len(EXCERPTS))])
def test_an_excerpt_is_in_the_module_that_it_names(path: str, excerpt: str) -> None:
    assert excerpt in (REPOSITORY / path).read_text()
