"""Results are kept as data, with where they come from."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import bench.results
from bench.__main__ import main
from bench.provenance import DirtyTreeError, Machine, Provenance
from bench.results import Run, read, read_all, record

ORIGIN = Provenance("0123456789ab", "2026-11-23", Machine(2, 23, "AMD EPYC", "Linux"))
RUN = Run(command="python -m bench.drain", seconds=61.2)


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree with uncommitted changes."""

    def refuse() -> Provenance:
        raise DirtyTreeError("uncommitted: engine.py")

    monkeypatch.setattr(bench.results, "provenance", refuse)


def test_a_result_is_read_as_it_was_recorded(tmp_path: Path) -> None:
    kept = record("drain", {"muster": {"pods": 3000}}, run=RUN, origin=ORIGIN, folder=tmp_path)

    assert read("drain", tmp_path) == kept
    assert kept.provenance == ORIGIN
    assert kept.run == RUN


def test_a_file_names_commit_date_and_machine(tmp_path: Path) -> None:
    record("drain", {"pods": 3000}, origin=ORIGIN, folder=tmp_path)

    assert json.loads((tmp_path / "drain.json").read_text()) == {
        "benchmark": "drain",
        "commit": "0123456789ab",
        "date": "2026-11-23",
        "machine": {"cores": 2, "memory_gib": 23, "cpu": "AMD EPYC", "system": "Linux"},
        "data": {"pods": 3000},
    }


def test_a_new_result_replaces_the_last_one_and_leaves_no_other_file(tmp_path: Path) -> None:
    record("drain", {"pods": 1}, origin=ORIGIN, folder=tmp_path)
    record("drain", {"pods": 2}, origin=ORIGIN, folder=tmp_path)
    record("gangs", {"pods": 3}, origin=ORIGIN, folder=tmp_path)

    assert {name: result.data for name, result in read_all(tmp_path).items()} == {
        "drain": {"pods": 2},
        "gangs": {"pods": 3},
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["drain.json", "gangs.json"]


def test_a_benchmark_that_was_never_measured_has_no_result(tmp_path: Path) -> None:
    assert read("drain", tmp_path) is None


@pytest.mark.usefixtures("refusing")
def test_nothing_is_recorded_from_a_tree_with_uncommitted_changes(tmp_path: Path) -> None:
    with pytest.raises(DirtyTreeError):
        record("drain", {}, folder=tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("refusing")
def test_the_command_says_why_nothing_is_recorded() -> None:
    done = CliRunner().invoke(main, ["record", "drain"], input="{}")

    assert done.exit_code == 1
    assert "uncommitted: engine.py" in done.output
