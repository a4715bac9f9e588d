"""Results as data: what each benchmark measured last, in one JSON file of the folder `results/`.

Any benchmark or comparison keeps its result with one call:

    from bench.results import record
    record("parity", {"clusters": 60, "pods": 2400, "differences": 0})

or prints JSON, which `python -m bench record NAME < FILE` keeps. Either puts commit, date and machine on it (see
`bench.provenance`), refuses a tree with uncommitted changes, and replaces the file of that name at once. `data` is
what `json` can write. Pages show results through `bench.tables`; nothing else reads them.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench.provenance import REPOSITORY, Machine, Provenance, provenance

FOLDER = REPOSITORY / "results"


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a result was measured.

    Attributes:
        command: its command line.
        seconds: how long it took.
        failure: what it ended with, if it failed after it had measured something.
    """

    command: str = ""
    seconds: float | None = None
    failure: str = ""


_BY_HAND = Run()
"""Of a result that somebody recorded who measured it in a way of their own."""


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A result as it is kept.

    Attributes:
        benchmark: its name, and that of its file.
        commit, date, machine: see `Provenance`.
        run: how it was measured.
        note: what readers have to know besides, such as that figures were rounded when they were recorded.
        data: what was measured.
    """

    benchmark: str
    commit: str
    date: str
    machine: Machine
    run: Run = _BY_HAND
    note: str = ""
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
    """Keep a result, in place of the last one of this name. `origin` is taken from this tree and machine if absent.

    Raises `DirtyTreeError` where the tree has uncommitted changes.
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
    """The result of this name, if there is one. Raises `msgspec.ValidationError` and `msgspec.DecodeError`."""
    try:
        content = (folder / f"{benchmark}.json").read_bytes()
    except FileNotFoundError:
        return None
    return msgspec.json.decode(content, type=Result)


def read_all(folder: Path = FOLDER) -> dict[str, Result]:
    """All results by name. Raises as `read` does."""
    return {name: result for name in _names(folder) if (result := read(name, folder)) is not None}


def _names(folder: Path) -> Iterator[str]:
    yield from sorted(path.stem for path in folder.glob("*.json"))


def _write(path: Path, result: Result) -> None:
    """Write atomically: a reader finds the old file or the new one, even after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    partial.replace(path)
