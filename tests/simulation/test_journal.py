"""A long run of seeds that is interrupted continues, and its sum is that of one run."""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from muster.testing.simulation import __main__ as command
from muster.testing.simulation.journal import SeedJournal, SeedResult


def result(seed: str) -> SeedResult:
    return SeedResult(seed, False, 10, 3600.0, 0.5, 1.0, {"acts": {"node_comes": 2}})


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    """Play seeds as the command does; what it prints as JSON."""
    monkeypatch.setattr(sys, "argv", ["simulation", "--jobs=1", "--output=json", *arguments])
    assert command.main() == 0
    return {name: value for name, value in json.loads(capsys.readouterr().out).items() if "second" not in name}


def test_seeds_of_the_journal_are_not_played_again_and_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at_once = run(monkeypatch, capsys, "12-13")
    journal = f"--journal={tmp_path / 'seeds.jsonl'}"
    run(monkeypatch, capsys, "12", journal)
    played: list[str] = []
    play = command.play

    def spied(seed: str, **options: Any) -> command.Played:
        played.append(seed)
        return play(seed, **options)

    monkeypatch.setattr(command, "play", spied)
    continued = run(monkeypatch, capsys, "12-13", journal)
    assert played == ["13"]
    assert continued.pop("seeds_an_hour")
    assert at_once.pop("seeds_an_hour")
    assert continued == at_once
    assert continued["seeds"] == 2


def test_a_line_that_was_cut_off_is_dropped_and_the_next_one_is_whole(tmp_path: Path) -> None:
    journal = SeedJournal(tmp_path / "made" / "seeds.jsonl")
    journal.add(result("1"))
    assert journal.path is not None
    with journal.path.open("ab") as file:
        file.write(b'{"seed":"2","wro')
    assert list(journal.read()) == ["1"]
    journal.add(result("3"))
    assert journal.read() == {"1": result("1"), "3": result("3")}


def test_a_line_that_is_no_result_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "seeds.jsonl"
    path.write_text('{"seed": 1}\n')
    with pytest.raises(msgspec.ValidationError, match=r"\$\.seed"):
        SeedJournal(path).read()
