"""docs/conformance.md lists every situation, and the tests that it names exist."""

import re
from pathlib import Path

from tests.peers.gangs import AFTER_A_FAILURE, ON_ONE_NODE, WITH_A_COMPLETED_MEMBER
from tests.peers.quotas import SITUATIONS
from tests.peers.statuses import GROUPS, QUOTAS

REPOSITORY = Path(__file__).parents[2]
SECTION = (REPOSITORY / "docs" / "conformance.md").read_text().partition("\n## Tests of scheduler-plugins\n")[2]


def test_the_page_lists_every_situation_once() -> None:
    placed = [*ON_ONE_NODE, WITH_A_COMPLETED_MEMBER, AFTER_A_FAILURE, *SITUATIONS]
    shown = [*(each.shows for each in placed), *(each.shows for each in GROUPS), *(each.shows for each in QUOTAS)]
    assert re.findall(r"^\| `\w+` \| (.+?) \|", SECTION, re.MULTILINE) == shown


def test_the_tests_that_the_page_names_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", SECTION)
    assert named
    missing = [name for path, name in named if f"def {name}(" not in (REPOSITORY / path).read_text()]
    assert missing == []
