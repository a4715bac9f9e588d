"""The command line of `muster sandbox`."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from muster.sandbox import Sandbox
from tests.commands.asking import bounded

MUSTER = Path(sys.executable).with_name("muster")


def refused(*arguments: object) -> str:
    """What the command says of input that it does not take."""
    words = [str(MUSTER), "sandbox", *map(str, arguments)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2, ended.stderr
    return ended.stderr


async def test_a_port_that_is_taken_is_bad_input() -> None:
    async with Sandbox() as other:
        port = other.url.rpartition(":")[2]
        assert refused("--port", port) == f"Error: 127.0.0.1:{port}: Address already in use\n"


def test_a_kubeconfig_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "config"
    assert refused("--nodes", 0, "--kubeconfig", path) == f"Error: {path}: No such file or directory\n"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (7, "not a Kubernetes object: 7"),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": ["a"]},
            "v1 Pod: json: cannot unmarshal array into Go struct field Pod.metadata",
        ),
        (
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}, "status": {"conditions": 3}},
            "v1 Node one: json: cannot unmarshal number into Go struct field NodeStatus.status.conditions",
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "Bad_Name"}},
            'v1 Pod: Namespace "Bad_Name" is invalid',
        ),
    ],
)
def test_a_dump_that_no_api_server_could_have_printed_is_bad_input(tmp_path: Path, item: object, message: str) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"kind": "List", "items": [item]}))
    assert refused("--from", dump).startswith(f"Error: {dump}: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"kind: List\nitems: [", "yaml: line 2: did not find expected node content"),
        (b"kind: \x07", "yaml: control characters are not allowed"),
        (b"- kind: Pod", "not a Kubernetes object or list"),
    ],
)
def test_a_dump_that_is_neither_json_nor_yaml_is_reported_in_a_line(tmp_path: Path, text: bytes, message: str) -> None:
    dump = tmp_path / "dump.yaml"
    dump.write_bytes(text)
    assert refused("--from", dump) == f"Error: {dump}: {message}\n"


def test_a_kubeconfig_is_named_for_every_folder(tmp_path: Path) -> None:
    command = [str(MUSTER), "sandbox", "--nodes", "0", "--kubeconfig", "config"]
    with bounded(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)) as process:
        assert process.stdout is not None
        first, _, exported = (process.stdout.readline() for _ in range(3))
        process.send_signal(signal.SIGTERM)
    assert first.startswith("serving http://127.0.0.1:")
    assert exported == f"  export KUBECONFIG={tmp_path}/config\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_leaves_no_files(tmp_path: Path, number: signal.Signals) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with bounded(subprocess.Popen([MUSTER, "sandbox"], stdout=subprocess.PIPE, text=True, env=environment)) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("serving http://127.0.0.1:")
        assert [path.name for folder in tmp_path.iterdir() for path in folder.iterdir()] == ["kubeconfig"]
        process.send_signal(number)
        rest, _ = process.communicate(timeout=60)
    assert (process.returncode, rest.split()[-1]) == (0, "ended")
    assert list(tmp_path.iterdir()) == []
