"""Results as data: the last result of each benchmark, in one JSON file of the folder `results/`.

A benchmark or comparison stores its result with one call:

    from bench.results import record
    record("parity", {"clusters": 60, "pods": 2400, "differences": 0})

or prints JSON, which `python -m bench record NAME < FILE` stores. Both add commit, date and machine (see
`bench.provenance`), reject a tree with uncommitted changes, and replace the file of that name atomically. `data` is
anything that `json` can write. Only `bench.tables` reads results, for the pages.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench.provenance import REPOSITORY, Machine, Provenance, provenance

FOLDER = REPOSITORY / "results"


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The run that measured a result.

    Attributes:
        command: its command line.
        seconds: its duration.
        failure: the error with which it ended, if it failed after a part of the measurement.
    """

    command: str = ""
    seconds: float | None = None
    failure: str = ""


_BY_HAND = Run()
"""The run of a result that was recorded by hand."""


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A stored result.

    Attributes:
        benchmark: the name of the benchmark and of the file.
        commit, date, machine: see `Provenance`.
        run: how it was measured.
        data: the measured figures.
    """

    benchmark: str
    commit: str
    date: str
    machine: Machine
    run: Run = _BY_HAND
    data: dict[str, Any]

    @property
    def provenance(self) -> Provenance:
        """Commit, day and machine."""
        return Provenance(self.commit, self.date, self.machine)


def record(
    benchmark: str,
    data: Mapping[str, Any],
    *,
    run: Run = _BY_HAND,
    origin: Provenance | None = None,
    folder: Path = FOLDER,
) -> Result:
    """Store a result in place of the last one of this name. By default, `origin` is this tree and machine.

    Raises `DirtyTreeError` if the tree has uncommitted changes.
    """
    origin = origin or provenance()
    result = Result(
        benchmark=benchmark,
        commit=origin.commit,
        date=origin.date,
        machine=origin.machine,
        run=run,
        data=dict(data),
    )
    _write(folder / f"{benchmark}.json", result)
    return result


def read(benchmark: str, folder: Path = FOLDER) -> Result | None:
    """The result of this name; None if there is none. Raises `msgspec.ValidationError` and `msgspec.DecodeError`."""
    try:
        content = (folder / f"{benchmark}.json").read_bytes()
    except FileNotFoundError:
        return None
    return msgspec.json.decode(content, type=Result)


def read_all(folder: Path = FOLDER) -> dict[str, Result]:
    """All results, by name. Raises as `read` does."""
    return {name: result for name in _names(folder) if (result := read(name, folder)) is not None}


def _names(folder: Path) -> Iterator[str]:
    yield from sorted(path.stem for path in folder.glob("*.json"))


def _write(path: Path, result: Result) -> None:
    """Write atomically: a reader finds the old file or the new one, even after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    partial.replace(path)
