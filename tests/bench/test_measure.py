"""The cost of processes, read from outside."""

import os
import subprocess
import sys
import time

import pytest

from bench.measure import Reading, cpu_seconds, is_running, machine_seconds, peak_bytes


def test_cpu_time_is_what_the_system_says_of_this_process() -> None:
    before = time.process_time()
    told = cpu_seconds(os.getpid())
    after = time.process_time()
    assert before - 0.02 <= told <= after + 0.02


def test_the_machine_has_used_more_than_this_process() -> None:
    assert machine_seconds() > cpu_seconds(os.getpid())


def test_peak_memory_has_room_for_what_was_held_once() -> None:
    held = bytearray(64 << 20)
    held[:: 4 << 10] = bytes(len(held[:: 4 << 10]))
    del held
    assert peak_bytes(os.getpid()) > 64 << 20


def test_a_process_runs_until_it_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert is_running(child.pid)
        child.communicate(b"\n")
        assert not is_running(child.pid)
        with pytest.raises(FileNotFoundError):
            peak_bytes(child.pid)


def test_a_reading_since_another_is_the_difference_and_the_rest_is_others() -> None:
    earlier = Reading({"side": 1.0, "etcd": 2.0}, machine=10.0)
    later = Reading({"side": 1.5, "etcd": 2.25}, machine=12.0)
    used = later.since(earlier)
    assert used == Reading({"side": 0.5, "etcd": 0.25}, machine=2.0)
    assert used.others == 1.25
