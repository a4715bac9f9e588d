"""A dump that no cluster could have printed is bad input, and the field is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import make_node, make_pod
from tests.commands.asking import ask


def running(name: str, uid: str) -> dict[str, Any]:
    pod: dict[str, Any] = dict(make_pod(name).node("a"))
    pod["metadata"]["uid"] = uid
    return pod


@pytest.mark.parametrize("command", [("simulate", "-f", "pod.json"), ("defrag",)], ids=["simulate", "defrag"])
@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([running("x", "1"), running("x", "2")], 'Pod: metadata.name: Duplicate value: "default/x"'),
        ([running("x", "1"), running("y", "1")], 'Pod: metadata.uid: Duplicate value: "1"'),
        (
            [{"apiVersion": "v1", "kind": "Node", "metadata": {}, "status": {}}],
            "metadata.name: Required value: name or generateName is required",
        ),
    ],
    ids=["two pods of one name", "two pods of one UID", "a node without a name"],
)
def test_an_impossible_dump_is_bad_input(
    command: tuple[str, ...], items: list[Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pod.json").write_text(json.dumps(make_pod("new")))
    Path("dump.json").write_text(json.dumps({"kind": "List", "items": [make_node("a"), *items]}))
    shown = ask(*command, "--from", "dump.json")
    assert (shown.exit_code, shown.stderr.splitlines()[-1].endswith(message)) == (2, True), shown.output
