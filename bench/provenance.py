"""The origin of a result: the commit that was measured, the day, and the class of the machine.

`bench.results` adds it to every result. The commit is the last one that changed anything but results, pages and test
modules, so that committing a result, the page that shows it, or a test does not make the result look old. What
benchmarks and tests share, such as `tests.controlplane`, counts. The machine is described only by its class, without
names of hosts, users or paths.
"""

import os
import platform
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

REPOSITORY = Path(__file__).parents[1]
_MEASURED = ("--", ".", ":(exclude)results", ":(exclude)*.md", ":(exclude,glob)tests/**/test_*.py")
"""The measured part of the repository: everything except results, the pages that show them, and test modules."""
_COMMIT_DIGITS = 12
_SHOWN_FILES = 5
_KIBIBYTES_IN_GIBIBYTE = 1 << 20
_CPU_NOISE = re.compile(r"\((?:R|TM)\)|\bCPU\b|\bProcessor\b|@.*|\b\d+-Core\b", re.IGNORECASE)


class DirtyTreeError(Exception):
    """The tree has uncommitted changes, so no commit identifies what is measured; the text names some of them."""


class Machine(msgspec.Struct, frozen=True, omit_defaults=True):
    """The class of a machine, such as 2 cores of an AMD EPYC with 23 GiB under Linux.

    For imported results, possibly only the number of cores is known.
    """

    cores: int
    memory_gib: int = 0
    cpu: str = ""
    system: str = ""

    def __str__(self) -> str:
        cores = f"{self.cores} cores" + (f" ({self.cpu})" if self.cpu else "")
        memory = f"{self.memory_gib} GiB" if self.memory_gib else ""
        return ", ".join(filter(None, (cores, memory, self.system)))


class Provenance(msgspec.Struct, frozen=True):
    """Commit, day (UTC, ISO 8601) and machine."""

    commit: str
    date: str
    machine: Machine


def provenance(repository: Path = REPOSITORY, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Provenance:
    """The provenance of a result measured now. Raises `DirtyTreeError`; `CalledProcessError` outside a repository."""
    return Provenance(measured_commit(repository), now().date().isoformat(), this_machine())


def measured_commit(repository: Path = REPOSITORY) -> str:
    """The commit that the tree is measured as. Raises as `provenance` does."""
    if changed := _git(repository, "status", "--porcelain", *_MEASURED).splitlines():
        names = ", ".join(line[3:] for line in changed[:_SHOWN_FILES])
        more = f" and {len(changed) - _SHOWN_FILES} more" if len(changed) > _SHOWN_FILES else ""
        raise DirtyTreeError(f"results are recorded from a committed tree only; uncommitted: {names}{more}")
    return _git(repository, "log", "-1", f"--abbrev={_COMMIT_DIGITS}", "--format=%h", *_MEASURED).strip()


def this_machine() -> Machine:
    """The class of this machine; Linux only."""
    return machine(
        cores=len(os.sched_getaffinity(0)),
        meminfo=Path("/proc/meminfo").read_text(),
        cpuinfo=Path("/proc/cpuinfo").read_text(),
        system=platform.system(),
    )


def machine(*, cores: int, meminfo: str, cpuinfo: str, system: str) -> Machine:
    """The class of a machine from the kernel's files. The CPU's name omits trade marks, core count and clock rate."""
    kibibytes = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.MULTILINE)
    model = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return Machine(
        cores=cores,
        memory_gib=round(int(kibibytes[1]) / _KIBIBYTES_IN_GIBIBYTE) if kibibytes else 0,
        cpu=" ".join(_CPU_NOISE.sub(" ", model[1]).split()) if model else platform.machine(),
        system=system,
    )


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
