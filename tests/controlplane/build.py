"""Builds the control-plane programs from their Go modules: `python -m tests.controlplane.build [NAME...]`.

`make test` calls it before pytest. A first run takes several minutes and says what it is doing meanwhile; a later one
finds everything in the cache and ends at once. Builders that run at the same time wait for one another, and a program
appears in the cache by a rename, so an interrupted build leaves nothing half done.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import IO

from tests.controlplane import gomodule
from tests.controlplane.binaries import BINARIES, CONTROL_PLANE, Binary, cache_folder, find, version_stamp

REPORT_EVERY_SECONDS = 20
WORK_PREFIX = ".build-"


class BuildError(RuntimeError):
    """A program could not be built; the text ends with what Go said."""


def build(names: Iterable[str]) -> None:
    """Makes sure that the programs `names`, keys of `BINARIES`, are ready to run; builds those that are missing.

    Raises `BuildError` where Go is absent or a build fails.
    """
    wanted = [BINARIES[name] for name in names]
    if not _missing(wanted):
        return
    if shutil.which("go") is None:
        missing = ", ".join(binary.name for binary in _missing(wanted))
        raise BuildError(f"go is not on the PATH: it is needed once, to build {missing}")
    for folder, binaries in groupby(_missing(wanted), key=cache_folder):
        with _only_builder(folder):
            for module, members in groupby(_missing(binaries), key=attrgetter("module")):
                _build_module(module, list(members))


def _missing(binaries: Iterable[Binary]) -> list[Binary]:
    return [binary for binary in binaries if find(binary) is None]


def _build_module(module: str, binaries: Sequence[Binary]) -> None:
    """Builds all wanted programs of one Go module, one after another, in one throwaway module."""
    with tempfile.TemporaryDirectory(prefix=WORK_PREFIX, dir=cache_folder(binaries[0])) as name:
        folder = Path(name)
        _say(f"fetching {module} {binaries[0].version}")
        try:
            gomodule.write(folder, binaries)
        except subprocess.CalledProcessError as error:
            raise BuildError(f"go could not fetch {module} {binaries[0].version}") from error
        for binary in binaries:
            _build_binary(folder, binary)


def _build_binary(folder: Path, binary: Binary) -> None:
    output = folder / binary.name
    command = ["go", "build", "-mod=mod", "-trimpath", "-buildvcs=false"]
    command += ["-ldflags", gomodule.linker_flags(binary), "-o", str(output), binary.package]
    with tempfile.TemporaryFile() as log:
        with subprocess.Popen(
            command, cwd=folder, env=os.environ | {"CGO_ENABLED": "0"}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        ) as process:
            seconds = _wait(process, f"{binary.name} {binary.version}")
        if process.returncode:
            raise BuildError(f"go could not build {binary.name} {binary.version}:\n{_tail(log)}")
    output.rename(cache_folder(binary) / binary.name)
    version_stamp(binary).write_text(binary.stamp)
    _say(f"built {binary.name} {binary.version} in {seconds:.0f} s")


def _wait(process: subprocess.Popen[bytes], title: str) -> float:
    """Waits for a build and says every now and then that it goes on; returns how many seconds it took."""
    began = time.monotonic()
    _say(f"building {title}")
    while True:
        try:
            process.wait(REPORT_EVERY_SECONDS)
        except subprocess.TimeoutExpired:
            _say(f"building {title}: {time.monotonic() - began:.0f} s so far")
        else:
            return time.monotonic() - began


@contextmanager
def _only_builder(folder: Path) -> Iterator[None]:
    """Holds the machine-wide lock of a folder of the cache, waiting for another builder to end."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("waiting for another build of the same programs to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        for leftover in folder.glob(f"{WORK_PREFIX}*"):
            shutil.rmtree(leftover)
        yield


def _tail(log: IO[bytes], size: int = 4000) -> str:
    log.seek(max(0, log.seek(0, os.SEEK_END) - size))
    return log.read().decode(errors="replace")


def _say(text: str) -> None:
    print(f"control plane: {text}", file=sys.stderr, flush=True)


def main(names: Sequence[str]) -> int:
    """Builds the programs `names`, or those of the control plane where none is named; returns the exit code."""
    unknown = [name for name in names if name not in BINARIES]
    if unknown:
        _say(f"no such program: {', '.join(unknown)}; there are {', '.join(BINARIES)}")
        return 2
    try:
        build(names or [binary.name for binary in CONTROL_PLANE])
    except BuildError as error:
        _say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
