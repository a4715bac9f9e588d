"""All benchmarks are measured in turn, and each result is kept at once."""

import importlib
import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bench.__main__ import main
from bench.every import BENCHMARKS, Ended, Measurement, command_of
from bench.provenance import DirtyTreeError, Machine, Provenance
from bench.results import Run, read
from bench.tables import BLOCKS

RECORDED_BY_THEMSELVES = {"e2e", "parity", "parity-preemption", "parity-groups", "parity-trees", "simulation"}
"""Comparisons and the simulation, which are no benchmarks: see `tests.parity.summary` and `make simulate-all`."""


class Tree:
    """The repository: which commit it is at, and what Python answers there."""

    def __init__(self, folder: Path) -> None:
        self.commit = "0123456789ab"
        self.answers: dict[str, Ended] = {}
        self.measured: list[str] = []
        self.told: list[str] = []
        self.moves = False
        self.dirty_after: int | None = None
        seconds = count(step=60)
        self.measurement = Measurement(
            tell=self.told.append,
            execute=self._execute,
            origin=self._origin,
            clock=lambda: float(next(seconds)),
            folder=folder,
        )

    def _origin(self) -> Provenance:
        if self.dirty_after is not None and len(self.measured) >= self.dirty_after:
            raise DirtyTreeError("uncommitted: engine.py")
        return Provenance(self.commit, "2026-11-23", Machine(2))

    def _execute(self, command: Sequence[str]) -> Ended:
        name = command[1].removeprefix("bench.")
        self.measured.append(name)
        if self.moves:
            self.commit = "ba9876543210"
        return self.answers.get(name, Ended(0, json.dumps({"by": name})))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_each_result_is_kept_with_its_command_and_time(tree: Tree, tmp_path: Path) -> None:
    assert tree.measurement.measure_all(["drain", "gangs"]) == []

    kept = read("drain", tmp_path)
    assert kept is not None
    assert kept.data == {"by": "drain"}
    assert kept.run.seconds == 60
    assert kept.run.command == "python -m bench.drain --nodes=5000 --pods=3000 --runs=3 --output=json"
    assert tree.told == [
        "[1/2] drain: begins",
        "[1/2] drain: done after 60 s",
        "[2/2] gangs: begins",
        "[2/2] gangs: done after 60 s",
    ]


def test_a_benchmark_that_was_measured_at_this_commit_is_not_measured_again(tree: Tree) -> None:
    tree.measurement.measure_all(["drain"])
    tree.measurement.measure_all(["drain", "gangs"])

    assert tree.measured == ["drain", "gangs"]
    assert "[1/2] drain: measured at 0123456789ab already" in tree.told


def test_again_repeats_benchmarks_that_were_measured_already(tree: Tree) -> None:
    tree.measurement.measure_all(["drain"])
    tree.measurement.measure_all(["drain"], again=True)

    assert tree.measured == ["drain", "drain"]


def test_at_another_commit_all_is_measured_again_and_the_last_duration_is_printed(tree: Tree) -> None:
    tree.measurement.measure_all(["drain"])
    tree.commit = "ba9876543210"
    tree.measurement.measure_all(["drain"])

    assert tree.measured == ["drain", "drain"]
    assert "[1/1] drain: begins, took 60 s last time" in tree.told


def test_a_failed_benchmark_keeps_what_it_measured_and_the_others_go_on(tree: Tree, tmp_path: Path) -> None:
    tree.answers["drain"] = Ended(1, '{"muster": 1}')

    assert tree.measurement.measure_all(["drain", "gangs"]) == ["drain: failed with exit code 1"]

    kept = read("drain", tmp_path)
    assert kept is not None
    assert (kept.data, kept.run.failure) == ({"muster": 1}, "failed with exit code 1")
    assert tree.measured == ["drain", "gangs"]


def test_a_failed_benchmark_is_measured_again(tree: Tree) -> None:
    tree.answers["drain"] = Ended(1, "{}")
    tree.measurement.measure_all(["drain"])
    tree.measurement.measure_all(["drain"])

    assert tree.measured == ["drain", "drain"]


@pytest.mark.parametrize("output", ["", "no JSON", "[1"])
def test_a_benchmark_that_ends_without_a_result_leaves_the_last_one(tree: Tree, tmp_path: Path, output: str) -> None:
    tree.measurement.measure_all(["drain"])
    tree.answers["drain"] = Ended(1, output)

    failures = tree.measurement.measure_all(["drain"], again=True)

    assert failures == ["drain: failed with exit code 1 and without a result"]
    kept = read("drain", tmp_path)
    assert kept is not None
    assert kept.data == {"by": "drain"}


def test_the_output_of_another_program_is_kept_with_its_command_and_time(tree: Tree, tmp_path: Path) -> None:
    assert tree.measurement.measure("simulation", ["-m", "muster.testing.simulation", "7"]) == ("", 60.0)

    kept = read("simulation", tmp_path)
    assert kept is not None
    assert kept.data == {"by": "muster.testing.simulation"}
    assert kept.run == Run(command="python -m muster.testing.simulation 7", seconds=60.0)


@pytest.mark.parametrize(
    ("status", "told"), [(0, "simulation: done after 60 s"), (1, "simulation: failed with exit code 1 after 60 s")]
)
def test_the_command_says_what_came_of_another_program(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, status: int, told: str
) -> None:
    tree.answers["simulation"] = Ended(status, "{}")
    monkeypatch.setattr("bench.__main__.Measurement", lambda tell: tree.measurement)

    done = CliRunner().invoke(main, ["record", "simulation", "--", "-m", "bench.simulation", "--output=json"])

    assert (done.exit_code, done.output.removeprefix("Error: ").strip()) == (status, told)


def test_nothing_is_recorded_of_a_tree_that_was_committed_to_meanwhile(tree: Tree, tmp_path: Path) -> None:
    tree.moves = True

    [failure] = tree.measurement.measure_all(["drain"])

    assert "not recorded" in failure
    assert read("drain", tmp_path) is None


def test_a_tree_with_uncommitted_changes_is_not_measured(tree: Tree) -> None:
    tree.dirty_after = 0

    with pytest.raises(DirtyTreeError):
        tree.measurement.measure_all(["drain"])

    assert tree.measured == []


def test_a_tree_that_is_changed_meanwhile_is_not_recorded(tree: Tree, tmp_path: Path) -> None:
    tree.dirty_after = 1

    with pytest.raises(DirtyTreeError):
        tree.measurement.measure_all(["drain", "gangs"])

    assert read("drain", tmp_path) is None


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_takes_the_arguments_that_it_is_measured_with(name: str) -> None:
    _, module, *arguments = command_of(name)
    command = importlib.import_module(module).main
    assert isinstance(command, click.Command)

    context = command.make_context(name, arguments)

    assert context.params["output"] == "json"


def test_all_that_pages_show_is_measured() -> None:
    assert {name for block in BLOCKS.values() for name in block.sources} == set(BENCHMARKS) | RECORDED_BY_THEMSELVES
