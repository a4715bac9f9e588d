"""The costs of processes, read from /proc: CPU time and peak memory. Linux only; processes are given by their ids."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_PROC = Path("/proc")
_TICK = 1 / os.sysconf("SC_CLK_TCK")
_USER, _SYSTEM = 11, 12
_IDLE, _WAITING = 3, 4


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads of a process since its start, in user and kernel; in steps of a clock tick, 10 ms."""
    fields = _fields(pid)
    return (int(fields[_USER]) + int(fields[_SYSTEM])) * _TICK


def peak_bytes(pid: int) -> int:
    """The highest resident memory of the process since its start (VmHWM)."""
    for line in (_PROC / str(pid) / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(f"process {pid} has ended")


def is_running(pid: int) -> bool:
    """Whether the process exists and has not ended."""
    try:
        return _fields(pid)[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def machine_seconds() -> float:
    """CPU time that all programs of the machine have used since it was started."""
    times = [int(field) for field in (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(times) - times[_IDLE] - times[_WAITING]) * _TICK


@dataclass(frozen=True, slots=True)
class Reading:
    """CPU seconds of some processes and of the whole machine, each since its start, or between two readings."""

    processes: dict[str, float]
    machine: float

    @classmethod
    def of(cls, pids: dict[str, int]) -> Self:
        """Read the times now."""
        return cls({name: cpu_seconds(pid) for name, pid in pids.items()}, machine_seconds())

    def since(self, earlier: "Reading") -> "Reading":
        """The CPU time between two readings."""
        used = {name: seconds - earlier.processes[name] for name, seconds in self.processes.items()}
        return Reading(used, self.machine - earlier.machine)

    @property
    def others(self) -> float:
        """The CPU time of all other programs."""
        return max(0.0, self.machine - sum(self.processes.values()))


def _fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the command, whose name may hold anything."""
    return (_PROC / str(pid) / "stat").read_text().rpartition(") ")[2].split()
