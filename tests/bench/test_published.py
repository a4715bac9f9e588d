"""The pages show what was recorded, and no figures besides."""

from pathlib import Path

import pytest

from bench.provenance import REPOSITORY, Machine
from bench.published import block_of, blocks_in, brought_up_to_date, figures_elsewhere, pages
from bench.results import Result, read_all
from bench.tables import BLOCKS

PAGES = [page.relative_to(REPOSITORY).as_posix() for page in pages()]
SETTINGS = "docs/configuration.md"
"""Its tables have the defaults of settings, which nobody measures."""
MARKED = "Before\n\n<!-- results: storm -->\n| stale | 1 |\n<!-- end of results -->\n\nAfter\n"


def found(rate: float) -> dict[str, float]:
    return {"waiting": 0, "pods_per_second": rate, "bound_p99": 0.1, "in_vain": 0, "events_per_second": 200}


STORM = Result(
    benchmark="storm", commit="c", date="d", machine=Machine(2), data={"calm": found(100), "storm": found(90)}
)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_results_as_they_were_recorded(page: str) -> None:
    text = (REPOSITORY / page).read_text()

    assert text == brought_up_to_date(text, read_all()), "`make tables` brings the pages up to date"


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_is_whole(page: str) -> None:
    text = (REPOSITORY / page).read_text()

    assert text.count("<!-- results:") == text.count("<!-- end of results -->") == len(blocks_in(text))


def test_every_block_is_in_one_page() -> None:
    assert sorted(name for page in PAGES for name in blocks_in((REPOSITORY / page).read_text())) == sorted(BLOCKS)


@pytest.mark.parametrize("page", sorted({*PAGES} - {SETTINGS}))
def test_a_page_shows_only_figures_of_results(page: str) -> None:
    assert figures_elsewhere((REPOSITORY / page).read_text()) == []


def test_a_block_is_brought_up_to_date_and_the_rest_of_the_page_stays() -> None:
    page = brought_up_to_date(MARKED, {"storm": STORM})

    assert page.startswith("Before\n\n<!-- results: storm -->\n| | 0 pods fit nowhere |")
    assert "| plain pods/s | 100 | 90 |\n" in page
    assert "stale" not in page
    assert page.endswith("\n<!-- end of results -->\n\nAfter\n")
    assert brought_up_to_date(page, {"storm": STORM}) == page


def test_blocks_that_follow_one_another_stay_apart() -> None:
    page = f"{block_of('storm', {})}\n\nBetween\n\n{block_of('soak', {})}\n"

    assert blocks_in(page) == ["storm", "soak"]
    assert brought_up_to_date(page, {}) == page


def test_a_block_that_nothing_makes_is_an_error() -> None:
    with pytest.raises(KeyError, match="weather"):
        brought_up_to_date(MARKED.replace("storm", "weather"), {})


@pytest.mark.parametrize(
    ("row", "is_figures"),
    [
        ("| pods/s | 322 | 1,494 | 1.54 |", True),
        ("| peak memory | 12 % | |", True),
        ("| slope | \N{EN DASH} | +3.5 | -1 |", True),
        ("| `hard` | 1 | weight |", False),
        ("| a gang | 5,000 nodes |", False),
        ("| only words | |", False),
        ("| --- | ---: |", False),
    ],
)
def test_rows_of_figures_are_known(row: str, is_figures: bool) -> None:
    assert figures_elsewhere(f"Text\n\n{row}\n") == ([row] if is_figures else [])


def test_figures_in_a_block_are_not_elsewhere() -> None:
    assert figures_elsewhere(MARKED) == []


def test_pages_are_the_readme_and_the_documentation(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("README.md", "CHANGELOG.md", "docs/web.md", "docs/gangs.md"):
        (tmp_path / name).touch()

    assert [page.name for page in pages(tmp_path)] == ["README.md", "gangs.md", "web.md"]
