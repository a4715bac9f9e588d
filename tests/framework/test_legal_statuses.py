"""Legal statuses: the table that the runtime goes by, the docstring of each method and the page for authors agree."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.framework import authoring, contract
from muster.framework.contract import Code, Plugin
from muster.framework.contract.legal import LEGAL_STATUSES, REJECTIONS
from muster.framework.runtime import points

PAGE = (Path(__file__).parents[2] / "docs" / "writing-plugins.md").read_text()
TABLE = PAGE.partition("\n## What an answer may be\n")[2].partition("\n## ")[0]
ALWAYS = frozenset({Code.SUCCESS, Code.ERROR})


def bases() -> Iterator[type[Plugin]]:
    """Every base class of plugins that authors derive from."""
    for module, names in ((contract, contract.__all__), (authoring, [*vars(authoring)])):
        for name in names:
            found = getattr(module, name)
            if inspect.isclass(found) and issubclass(found, Plugin):
                yield found


def answering() -> dict[str, str]:
    """The docstring of each method that answers a status, by its name."""
    found = {}
    for base in bases():
        for name, method in vars(base).items():
            answer = str(method.__annotations__.get("return")) if inspect.isfunction(method) else ""
            if re.search(r"\bStatus\b", answer) or (name == "filter" and base is contract.FilterPlugin):
                found[name] = inspect.getdoc(method) or ""
    return found


def words(codes: frozenset[Code]) -> str:
    """A set of codes as docstrings spell it."""
    spelled = {"success": {Code.SUCCESS}, "SKIP": {Code.SKIP}, "a rejection": REJECTIONS, "ERROR": {Code.ERROR}}
    assert codes <= {code for some in spelled.values() for code in some}
    return ", ".join(word for word, some in spelled.items() if some <= codes)


def test_every_method_that_answers_a_status_is_in_the_table_and_no_other() -> None:
    assert answering().keys() == LEGAL_STATUSES.keys()


@pytest.mark.parametrize("method", LEGAL_STATUSES)
def test_the_docstring_names_the_statuses_of_the_table(method: str) -> None:
    assert answering()[method].endswith(f"Legal statuses: {words(LEGAL_STATUSES[method])}.")


@pytest.mark.parametrize("method", [name for name in LEGAL_STATUSES if not name.startswith("reject_")])
def test_the_page_for_authors_names_them_as_well(method: str) -> None:
    cells = (line.split("|") for line in TABLE.splitlines() if line.startswith("|"))
    [said] = [answer for _, methods, answer, _ in cells if f"`{method}`" in methods]
    codes = LEGAL_STATUSES[method]
    assert ("rejection" in said, "SKIP" in said) == (codes >= REJECTIONS, Code.SKIP in codes)


def test_the_runtime_goes_by_the_table() -> None:
    by_point = {
        point.name: point.legal for point in vars(points).values() if isinstance(point, points.Point) and point.legal
    }
    expected = {
        "".join(word.capitalize() for word in name.split("_")): codes
        for name, codes in LEGAL_STATUSES.items()
        if not name.startswith(("reject_", "filter", "add_pod", "remove_pod"))
    }
    named_otherwise = {
        "PreFilterExtensionAddPod": LEGAL_STATUSES["add_pod"],
        "PreFilterExtensionRemovePod": LEGAL_STATUSES["remove_pod"],
        # A rejection there gets kube-scheduler's own words, which the framework has.
        "PreBindPreFlight": LEGAL_STATUSES["pre_bind_pre_flight"] | REJECTIONS,
    }
    assert by_point == expected | named_otherwise
