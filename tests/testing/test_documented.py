"""What docs/writing-plugins.md shows of testing works as it stands there."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "writing-plugins.md"
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
SHOWN = [block for block in BLOCKS if "def test_" in block]


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
