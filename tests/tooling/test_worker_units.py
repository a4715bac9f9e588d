"""Tests are shared out among workers by units, and workers do not get in each other's way."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane.ports import FIRST_PORT, LAST_PORT, own_ports
from tests.worker_units import APART, UNITS, unit_of

REPOSITORY = Path(__file__).parents[2]
HOOKS = "from tests.conftest import pytest_collection_modifyitems, pytest_xdist_make_scheduler\n"
TEST = "import pytest\n\n\n@pytest.mark.parametrize('number', range(4))\ndef test_any(number):\n    pass\n"
FILES = (
    "tests/aside/test_first.py",
    "tests/aside/test_second.py",
    "tests/gangscheduling/real/test_first.py",
    "tests/gangscheduling/real/test_second.py",
    "tests/gangscheduling/test_scripts.py",
    "tests/ha/test_takeover.py",
    "tests/simulation/test_seeds.py",
)
_RAN = re.compile(r"^\[(gw\d)\] .* PASSED (\S+?)::", re.MULTILINE)


@pytest.mark.parametrize(
    ("nodeid", "unit"),
    [
        ("tests/queue/test_moves.py::test_any[gw::1]", "tests/queue/test_moves.py"),
        ("tests/ha/test_takeover.py::test_any", "by the clock"),
        ("tests/simulation/test_seeds.py::test_any", "by the clock"),
        ("tests/simulation/test_loop.py::test_any", "tests/simulation/test_loop.py"),
        ("tests/simulation/test_bugs.py::test_any[no fence]", "tests/simulation/test_bugs.py::test_any[no fence]"),
        ("tests/deploy/followed/test_pages.py::test_any", "deployed"),
        ("tests/bench/test_quotas.py::test_any", "built"),
        ("tests/bench/test_stand_in.py::test_any", "built"),
        ("tests/gangscheduling/test_scripts.py::test_any", "tests/gangscheduling/test_scripts.py"),
        ("tests/gangscheduling/real/test_gangs.py::test_any", "gated"),
    ],
)
def test_a_test_belongs_to_its_file_or_to_a_folder_that_shares_something(nodeid: str, unit: str) -> None:
    assert unit_of(nodeid) == unit


@pytest.mark.parametrize("place", [*UNITS, *APART])
def test_every_folder_and_file_with_a_rule_of_its_own_is_there(place: str) -> None:
    assert (REPOSITORY / place).is_file() or list((REPOSITORY / place).rglob("test_*.py")) != []


def test_workers_look_for_ports_among_their_own() -> None:
    ports = [set(own_ports(f"gw{number}", 3)) for number in range(3)]

    assert set.union(*ports) == set(range(FIRST_PORT, LAST_PORT + 1))
    assert sum(map(len, ports)) == LAST_PORT + 1 - FIRST_PORT


def test_a_process_without_workers_has_all_ports() -> None:
    assert own_ports("gw0", 1) == range(FIRST_PORT, LAST_PORT + 1)


def test_a_worker_that_came_in_place_of_one_that_died_has_ports_too() -> None:
    assert own_ports("gw2", 2) == own_ports("gw0", 2)


def test_a_unit_stays_with_one_worker_and_folders_come_before_files(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(HOOKS)
    for file in FILES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(TEST)

    command = [sys.executable, "-m", "pytest", "-v", "--numprocesses=2", "--import-mode=importlib", "tests"]
    ran = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True
    )

    places = _RAN.findall(ran.stdout)
    assert (ran.returncode, len(places)) == (0, 4 * len(FILES)), ran.stdout + ran.stderr
    workers = {(unit_of(file), worker) for worker, file in places}
    assert len(workers) == len({unit for unit, _ in workers})
    for worker in ("gw0", "gw1"):
        units = list(dict.fromkeys(unit_of(file) for ran_by, file in places if ran_by == worker))
        assert units[0] in UNITS.values()
