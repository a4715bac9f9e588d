"""A history that is kept plays as it did, and a failing one is written by the command that plays it."""

from pathlib import Path

import pytest

from muster.testing.simulation import __main__ as command
from muster.testing.simulation import history_of, scale_of, simulate
from muster.testing.simulation.kept import Kept, read
from muster.testing.simulation.stage import Stage


def test_a_history_that_is_written_and_read_plays_the_same(tmp_path: Path) -> None:
    outcome = simulate("12")
    Kept("12", "", outcome.scale, outcome.history).write(tmp_path / "kept.json")
    assert read(tmp_path / "kept.json").play().digest == outcome.digest


def test_a_history_plays_on_when_its_seed_plays_another(tmp_path: Path) -> None:
    """The lots of another seed, and neither its acts nor its scale."""
    Kept("13", "", scale_of("12"), tuple(history_of("12", scale_of("12")))).write(tmp_path / "kept.json")
    outcome = read(tmp_path / "kept.json").play()
    assert outcome.history == simulate("12").history
    assert outcome.scale == scale_of("12")
    assert outcome.digest not in (simulate("12").digest, simulate("13").digest)


def test_lots_differ_in_nothing_but_lots() -> None:
    kept = Kept("12", "", scale_of("12"), tuple(history_of("12", scale_of("12"))))
    first, second = (lot.play() for lot in kept.lots(2))
    assert first.digest == simulate("12").digest
    assert (second.history, second.scale) == (first.history, first.scale)
    assert second.digest != first.digest


def test_a_seed_that_goes_wrong_is_kept_and_its_file_goes_wrong_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of its acts are called wrong, whatever else happens."""
    acts = history_of("12", scale_of("12"))
    needed = [acts[0], acts[-1]]
    record = Stage.record

    def blames(stage: Stage, line: str, *bodies: bytes) -> None:
        record(stage, line, *bodies)
        seen = stage.__dict__.setdefault("seen", [])
        seen += [act for act in needed if line == f"{act.what} {act.given}"]
        if all(act in seen for act in needed) and not stage.judge.wrong:
            stage.judge.wrong.append("both have happened")

    monkeypatch.setattr(Stage, "record", blames)
    played = command.play("12", keep=tmp_path)
    path = tmp_path / "seed-12.json"
    assert read(path).history == tuple(needed)
    assert read(path).wrong == "both have happened"
    assert played.again[-1] == f"  again: python -m muster.testing.simulation {path} --trace"
    assert command.play(str(path)).outcome.wrong == ("both have happened",)
