"""A dump that no cluster could have printed is bad input, and the field is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.builders import make_node, make_pod
from tests.commands.asking import ask
from tests.simulate.rehearsing import pod_group
from tests.storage import make_claim


def running(name: str, uid: str) -> dict[str, Any]:
    pod: dict[str, Any] = dict(make_pod(name).node("a"))
    pod["metadata"]["uid"] = uid
    return pod


def of_kind(kind: str, api_version: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": api_version, "metadata": {"name": name, "namespace": "default"}, **fields}


def renamed(node: dict[str, Any], name: str) -> dict[str, Any]:
    node["metadata"]["name"] = name
    return node


def ask_about(items: list[Any], *command: str) -> Result:
    """Asks about a cluster of the node `a` and these objects."""
    Path("pod.json").write_text(json.dumps(make_pod("new")))
    Path("dump.json").write_text(json.dumps({"kind": "List", "items": [make_node("a"), *items]}))
    return ask(*command, "--from", "dump.json")


BUDGET = of_kind("PodDisruptionBudget", "policy/v1", "guard", spec={}, status={})
CLASS = of_kind("PriorityClass", "scheduling.k8s.io/v1", "high", value=7)
BOUNDS = of_kind("LimitRange", "v1", "bounds", spec={"limits": []})


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", [("simulate", "-f", "pod.json"), ("defrag",)], ids=["simulate", "defrag"])
@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([running("x", "1"), running("x", "2")], 'Pod default/x: metadata.name: Duplicate value: "x"'),
        ([running("x", "1"), running("y", "1")], 'Pod default/y: metadata.uid: Duplicate value: "1"'),
        ([make_node("a")], 'Node a: metadata.name: Duplicate value: "a"'),
        ([make_node("b"), renamed(make_node("b"), "c")], 'Node c: metadata.uid: Duplicate value: "node-b"'),
        ([pod_group("g", 1), pod_group("g", 2)], 'PodGroup default/g: metadata.name: Duplicate value: "g"'),
        ([BUDGET, BUDGET], 'PodDisruptionBudget default/guard: metadata.name: Duplicate value: "guard"'),
        ([CLASS, CLASS], 'PriorityClass high: metadata.name: Duplicate value: "high"'),
        ([BOUNDS, BOUNDS], 'LimitRange default/bounds: metadata.name: Duplicate value: "bounds"'),
        (
            [{"apiVersion": "v1", "kind": "Node", "metadata": {}, "status": {}}],
            "metadata.name: Required value: name or generateName is required",
        ),
    ],
    ids=[
        "two pods of one name",
        "two pods of one UID",
        "two nodes of one name",
        "two nodes of one UID",
        "two groups of one name",
        "two budgets of one name",
        "two priority classes of one name",
        "two limit ranges of one name",
        "a node without a name",
    ],
)
def test_an_impossible_dump_is_bad_input(command: tuple[str, ...], items: list[Any], message: str) -> None:
    shown = ask_about(items, *command)
    assert (shown.exit_code, shown.stderr.splitlines()[-1].endswith(message)) == (2, True), shown.output


def test_an_object_in_two_files_of_a_dump_is_bad_input() -> None:
    folder = Path("dump")
    folder.mkdir()
    for name in ("one.json", "two.json"):
        (folder / name).write_text(json.dumps(make_node("a")))
    shown = ask("defrag", "--from", "dump")
    assert (shown.exit_code, shown.stderr) == (2, 'Error: dump: Node a: metadata.name: Duplicate value: "a"\n')


def test_the_listed_claim_of_an_ephemeral_volume_is_no_duplicate_of_the_claim_that_its_pod_needs() -> None:
    pod: dict[str, Any] = dict(make_pod("web"))
    template = {"spec": make_claim("x", storage_class="made")["spec"]}
    pod["spec"]["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    shown = ask_about([pod, make_claim("web-scratch", storage_class="made")], "simulate", "-f", "pod.json")
    assert (shown.exit_code, shown.stdout.splitlines()[-1]) == (0, "1 of 1 pod would be scheduled.")
