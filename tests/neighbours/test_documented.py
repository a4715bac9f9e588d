"""docs/conformance.md names the neighbours as they are built."""

import re
from pathlib import Path

from tests.controlplane.binaries import NEIGHBOURS

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
MAKEFILE = Path(__file__).parents[2] / "Makefile"
ROW = re.compile(r"^\| [^|]+ \| (\d+\.\d+\.\d+) \|", re.MULTILINE)


def test_the_page_has_the_versions_that_are_built() -> None:
    rows = ROW.findall(PAGE.read_text().partition("## Neighbours")[2])
    assert sorted(rows) == sorted(binary.version for binary in NEIGHBOURS)


def test_the_makefile_builds_each_neighbour() -> None:
    [names] = re.findall(r"^NEIGHBOURS := (.*)$", MAKEFILE.read_text(), re.MULTILINE)
    assert names.split() == [binary.name for binary in NEIGHBOURS]
