"""The pages for people: what they link to and what they name is there."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PAGES = sorted(
    page.relative_to(REPOSITORY).as_posix()
    for folder, pattern in ((".", "*.md"), ("docs", "*.md"), ("charts", "**/*.md"))
    for page in (REPOSITORY / folder).glob(pattern)
)
FOLDERS = ("bench", "charts", "deploy", "docs", "framework", "operator", "plugins", "sandbox", "tests")
_LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")
_ANCHOR = re.compile(r"\]\((?!https?://)([^)#\s]*)#([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)`")


@pytest.mark.parametrize("page", PAGES)
def test_links_and_files_that_a_page_names_exist(page: str) -> None:
    text = (REPOSITORY / page).read_text()

    links = [(REPOSITORY / page).parent / link for link in _LINK.findall(text)]
    named = [REPOSITORY / path for path in _NAMED.findall(text)]

    assert [str(path.relative_to(REPOSITORY)) for path in (*links, *named) if not path.exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_the_sections_that_a_page_links_to_are_there(page: str) -> None:
    source = REPOSITORY / page

    linked = [
        (source.parent / path if path else source, anchor) for path, anchor in _ANCHOR.findall(source.read_text())
    ]

    assert [(str(target), anchor) for target, anchor in linked if anchor not in _anchors(target)] == []


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = _HEADING.findall(_FENCED.sub("", page.read_text()))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_repository_says_how_to_contribute_what_changed_and_how_to_report() -> None:
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"} <= set(PAGES)


def test_the_methods_that_the_architecture_names_are_there() -> None:
    named = re.findall(r"`([A-Z]\w+)\.([a-z]\w+)`", (REPOSITORY / "docs" / "architecture.md").read_text())
    sources = [
        path.read_text()
        for folder in ("framework", "operator", "plugins")
        for path in (REPOSITORY / folder).rglob("*.py")
    ]
    bodies = dict(re.findall(r"^class (\w+)(.*?)(?=^class |\Z)", "\n".join(sources), re.DOTALL | re.MULTILINE))

    assert len(named) > 5
    assert [name for name, method in named if f"def {method}(" not in bodies.get(name, "")] == []
