"""How pytest-xdist's workers share the tests out: `make test` runs them on all cores.

A unit of tests stays with one worker, in its order. Most units are a file. Files that share something costly, such as
a control plane of their own, an installed image or a program that Go builds at its first use, are one unit, so that
only one worker makes it. So are tests whose leases run on the machine's clock together with those that keep every core
busy, lest they run at the same time. Of files whose tests are long and share nothing, each test is a unit. The longest
units come first, so that no worker ends long after the others.

Each worker is a process and a session of its own: with its own control plane, ports (`tests.controlplane.ports`),
browser and temporary folder.
"""

from collections.abc import Iterable

import pytest
from xdist.scheduler import LoadScopeScheduling

_BY_THE_CLOCK = "by the clock"
_BUILT = "built"
UNITS = {
    "tests/simulation/test_seeds.py": _BY_THE_CLOCK,
    "tests/ha/": _BY_THE_CLOCK,
    "tests/deploy/": "deployed",
    "tests/gangscheduling/real/": "gated",
    "tests/bench/test_quotas.py": _BUILT,
    "tests/bench/test_stand_in.py": _BUILT,
}
"""Folders and files to the unit that they are part of, the longest first."""
APART = ("tests/simulation/test_bugs.py",)
"""Files of which each test is a unit."""


def unit_of(nodeid: str) -> str:
    """The unit that a test belongs to: that of its folder, itself, or else its file."""
    if nodeid.startswith(APART):
        return nodeid
    return next((unit for folder, unit in UNITS.items() if nodeid.startswith(folder)), nodeid.partition("::")[0])


def longest_first(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The tests with those of `UNITS` first, then those of `APART`; apart from that their order stays."""
    places = {unit: place for place, unit in enumerate(dict.fromkeys(UNITS.values()))}
    rest = len(places)

    def place(item: pytest.Item) -> int:
        return places.get(unit_of(item.nodeid), rest if item.nodeid.startswith(APART) else rest + 1)

    return sorted(items, key=place)


class Units(LoadScopeScheduling):
    """Gives each worker that is about to run out of tests the next unit."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)
