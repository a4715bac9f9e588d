"""A process that records, on an embedded cluster, and what it wrote decided again."""

import json
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import yaml

from muster.testing import make_pod
from tests.e2e.eventually import eventually

from .recorded import GROUP_LABEL

GROUP_VERSION = "scheduling.x-k8s.io/v1alpha1"
CPUS_OF_A_NODE = 8
MUSTER = Path(sys.executable).with_name("muster")


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """Of an embedded cluster with ten nodes."""
    path = tmp_path / "kubeconfig"
    sandbox = subprocess.Popen([MUSTER, "sandbox", "--nodes=10", "--kubeconfig", path], stdout=subprocess.DEVNULL)
    try:
        eventually(path.exists)
        yield path
    finally:
        sandbox.terminate()
        try:
            sandbox.wait(30)
        finally:
            sandbox.kill()


def server_of(kubeconfig: Path) -> str:
    """Where it is served."""
    server: str = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    return server


def create(kubeconfig: Path, path: str, obj: Mapping[str, Any]) -> None:
    """Create an object."""
    headers = {"Content-Type": "application/json"}
    urlopen(Request(server_of(kubeconfig) + path, json.dumps(obj).encode(), headers, method="POST")).close()


def create_gang(kubeconfig: Path, name: str, members: int, *, cpu: float) -> None:
    """Create a PodGroup that needs all its members."""
    group = {"apiVersion": GROUP_VERSION, "kind": "PodGroup", "metadata": {"name": name}}
    create(kubeconfig, f"/apis/{GROUP_VERSION}/namespaces/default/podgroups", group | {"spec": {"minMember": members}})
    for member in range(members):
        pod = make_pod(f"{name}-{member}").labels({GROUP_LABEL: name}).requests(cpu=f"{cpu}")
        create(kubeconfig, "/api/v1/namespaces/default/pods", pod)


def unbound(kubeconfig: Path) -> list[str]:
    """The pods that have no node."""
    with urlopen(f"{server_of(kubeconfig)}/api/v1/pods") as answer:
        pods = json.load(answer)["items"]
    return [pod["metadata"]["name"] for pod in pods if not pod["spec"].get("nodeName")]


def test_a_process_records_what_replays_to_the_same_decisions(kubeconfig: Path, tmp_path: Path) -> None:
    path = tmp_path / "recording"
    process = subprocess.Popen([MUSTER, "run", "--kubeconfig", kubeconfig, "--secure-port=0", "--record", path])
    try:
        for number in range(20):
            create_gang(kubeconfig, f"gang-{number}", 4, cpu=0.1)
            create(kubeconfig, "/api/v1/namespaces/default/pods", make_pod(f"single-{number}").requests(cpu="50m"))
        create(kubeconfig, "/api/v1/namespaces/default/pods", make_pod("huge").requests(cpu="640"))
        eventually(lambda: unbound(kubeconfig) == ["huge"])
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    ended = subprocess.run([MUSTER, "replay", path], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "every decision is the same"), ended


def test_evictions_are_recorded_and_replay_to_the_same_decisions(kubeconfig: Path, tmp_path: Path) -> None:
    path = tmp_path / "recording"
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}}
    create(kubeconfig, "/apis/scheduling.k8s.io/v1/priorityclasses", urgent | {"value": 1000})
    process = subprocess.Popen([MUSTER, "run", "--kubeconfig", kubeconfig, "--secure-port=0", "--record", path])
    try:
        for number in range(10):
            create_gang(kubeconfig, f"gang-{number}", 2, cpu=CPUS_OF_A_NODE / 2)
        eventually(lambda: not unbound(kubeconfig))
        for number in range(3):
            pod = make_pod(f"urgent-{number}").requests(cpu=f"{CPUS_OF_A_NODE - 1}")
            pod["spec"]["priorityClassName"] = "urgent"
            create(kubeconfig, "/api/v1/namespaces/default/pods", pod)
        eventually(lambda: not unbound(kubeconfig))
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert '"call":"delete /api/v1/namespaces/default/pods/gang-' in path.read_text()
    ended = subprocess.run([MUSTER, "replay", path], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "every decision is the same"), ended


def test_a_recording_that_cannot_be_written_is_refused_at_the_start(kubeconfig: Path, tmp_path: Path) -> None:
    record = f"--record={tmp_path / 'no' / 'where'}"
    command = [str(MUSTER), "run", f"--kubeconfig={kubeconfig}", "--secure-port=0", record]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, "No such file or directory" in ended.stderr) == (2, True), ended.stderr
