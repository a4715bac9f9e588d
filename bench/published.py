"""The pages that show results: each table is in a marked block, whose content `bench.tables` makes from results.

A block begins with the line `<!-- results: NAME -->` and ends with `<!-- end of results -->`. Tests compare the pages
with the results; `python -m bench tables --write` updates them.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.provenance import REPOSITORY
from bench.results import Result
from bench.tables import BLOCKS, render
from bench.tables.markdown import NONE

_BLOCK = re.compile(r"^<!-- results: ([\w-]+) -->\n.*?^<!-- end of results -->$", re.DOTALL | re.MULTILINE)
_FIGURE = re.compile(rf"[{NONE}+-]?[\d,]*\.?\d*(?: ?%)?")


def pages(repository: Path = REPOSITORY) -> Iterator[Path]:
    """The pages that may show results."""
    yield repository / "README.md"
    yield from sorted((repository / "docs").glob("*.md"))


def block_of(name: str, results: Mapping[str, Result]) -> str:
    """The text of a block in a page. Raises KeyError for a name that `BLOCKS` does not have."""
    return f"<!-- results: {name} -->\n{render(BLOCKS[name], results)}\n<!-- end of results -->"


def brought_up_to_date(page: str, results: Mapping[str, Result]) -> str:
    """The page with every block made from the current results. Raises as `block_of` does."""
    return _BLOCK.sub(lambda found: block_of(found[1], results), page)


def blocks_in(page: str) -> list[str]:
    """The names of a page's blocks."""
    return _BLOCK.findall(page)


def figures_elsewhere(page: str) -> list[str]:
    """Rows of tables outside of blocks whose cells, except the first, are all figures: results of unknown origin."""
    rest = _BLOCK.sub("", page)
    return [line for line in rest.splitlines() if line.startswith("|") and _all_figures(line)]


def _all_figures(row: str) -> bool:
    cells = [cell.strip() for cell in row.strip("|").split("|")][1:]
    return any(re.search(r"\d", cell) for cell in cells) and all(_FIGURE.fullmatch(cell) for cell in cells)
