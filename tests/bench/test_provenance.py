"""Where results come from: which commit a tree is measured as, and how a machine is described."""

import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.provenance import REPOSITORY, DirtyTreeError, Machine, machine, measured_commit, provenance

CPUINFO = "processor\t: 0\nmodel name\t: {}\nstepping\t: 1\n"
IMPORTED_TEST = re.compile(r"^\s*(?:from|import) (?:bench|tests)\b.*\btest_", re.MULTILINE)
MEMINFO = "MemTotal:       24639236 kB\nMemFree:        1 kB\n"


def git(repository: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com"]
    command = ["git", "-C", str(repository), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(repository: Path, path: str, content: str) -> str:
    """Commits a file; the commit in the form that results have."""
    file = repository / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    git(repository, "add", path)
    git(repository, "commit", "--quiet", "--message", path)
    return git(repository, "rev-parse", "--short=12", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, "framework/engine.py", "1")
    return tmp_path


def test_results_pages_and_tests_do_not_make_another_commit_to_measure(repository: Path) -> None:
    measured = commit(repository, "framework/engine.py", "2")
    commit(repository, "results/drain.json", "{}")
    commit(repository, "README.md", "figures")
    commit(repository, "docs/web.md", "figures")
    commit(repository, "tests/queue/test_moves.py", "1")
    commit(repository, "tests/test_moves.py", "1")

    assert measured_commit(repository) == measured


def test_no_module_but_tests_imports_a_test_module() -> None:
    modules = [
        path
        for folder in ("bench", "tests")
        for path in (REPOSITORY / folder).rglob("*.py")
        if not path.name.startswith("test_")
    ]
    importing = [str(path) for path in modules if IMPORTED_TEST.search(path.read_text())]
    assert len(modules) > 200
    assert importing == []


@pytest.mark.parametrize("path", ["framework/engine.py", "tests/new.py", "bench/test_new.py", "results.py"])
def test_a_tree_with_uncommitted_changes_is_refused(repository: Path, path: str) -> None:
    file = repository / path
    file.parent.mkdir(exist_ok=True)
    file.write_text("changed")

    with pytest.raises(DirtyTreeError, match=r"committed tree only; uncommitted: \w"):
        measured_commit(repository)


def test_of_many_uncommitted_changes_five_are_named(repository: Path) -> None:
    for number in range(7):
        (repository / f"{number}.py").touch()

    with pytest.raises(DirtyTreeError, match=r"uncommitted: 0.py, 1.py, 2.py, 3.py, 4.py and 2 more$"):
        measured_commit(repository)


@pytest.mark.parametrize("path", ["results/drain.json", "README.md", "docs/web.md"])
def test_uncommitted_results_and_pages_are_no_change_of_what_is_measured(repository: Path, path: str) -> None:
    file = repository / path
    file.parent.mkdir(exist_ok=True)
    file.write_text("figures")

    assert measured_commit(repository) == git(repository, "rev-parse", "--short=12", "HEAD")


def test_the_day_is_that_of_utc(repository: Path) -> None:
    origin = provenance(repository, now=lambda: datetime(2026, 11, 23, 23, 59, tzinfo=UTC))

    assert origin.date == "2026-11-23"
    assert origin.machine.cores >= 1


@pytest.mark.parametrize(
    ("model", "cpu"),
    [
        ("AMD EPYC", "AMD EPYC"),
        ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"),
        ("Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", "Intel Xeon Platinum 8370C"),
    ],
)
def test_a_machine_is_described_by_its_class(model: str, cpu: str) -> None:
    described = machine(cores=2, meminfo=MEMINFO, cpuinfo=CPUINFO.format(model), system="Linux")

    assert described == Machine(cores=2, memory_gib=23, cpu=cpu, system="Linux")
    assert str(described) == f"2 cores ({cpu}), 23 GiB, Linux"


def test_of_a_machine_no_more_is_said_than_is_known() -> None:
    assert str(Machine(cores=2)) == "2 cores"
