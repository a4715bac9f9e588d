"""The command line of `muster defrag`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from muster.operator.cli import main
from muster.plugins.coscheduling.definition import definition
from muster.sandbox import Sandbox
from muster.sandbox.kinds import NODES, PODS
from tests.builders import make_node
from tests.sandboxes import served

from .world import Manifest, budget, runs, waits

CLUSTER = [make_node("one", cpu="4"), make_node("two", cpu="2"), runs("a", "one", "1"), waits("big", "4")]
DEFAULT = ("--config", "default")


def defrag(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["defrag", *map(str, arguments), *DEFAULT], input=stdin)


def dumped(folder: Path, *found: Manifest) -> Path:
    path = folder / "dump.json"
    path.write_text(json.dumps({"kind": "List", "items": found}))
    return path


@pytest.fixture
def sandbox() -> Sandbox:
    """A cluster without a scheduler, controllers and kubelets."""
    return Sandbox([definition()], stand_ins=False)


@pytest.fixture
def kubeconfig(sandbox: Sandbox, tmp_path: Path) -> Iterator[Path]:
    """The sandbox with a pod that waits for the node of another."""
    sandbox.load([each for each in CLUSTER if each["kind"] == "Node"])
    owned = [{"apiVersion": "v1", "kind": "Pod", **each} for each in CLUSTER if each["kind"] == "Pod"]
    sandbox.load(owned)
    with served(sandbox, [], tmp_path) as path:
        yield path


def test_the_moves_are_a_table_and_the_aim_a_sentence(tmp_path: Path) -> None:
    result = defrag("--from", dumped(tmp_path, *CLUSTER))
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "POD         NODE   TO    PODGROUP   PRIORITY   CONTROLLER",
        "default/a   one    two   <none>     0          ReplicaSet web",
        "",
        "If this pod moved, pod default/big would start.",
        "It would get 1 node: one.",
        "Fewer pods would not do.",
    ]


def test_a_program_gets_the_whole_answer_as_json(tmp_path: Path) -> None:
    found: dict[str, Any] = json.loads(defrag("--from", dumped(tmp_path, *CLUSTER), "-o", "json").stdout)
    assert found["unhelped"] == []
    proposal = found["proposal"]
    [move] = proposal.pop("moves")
    assert move.pop("uid")
    assert move == {
        "pod": "default/a",
        "node": "one",
        "to": "two",
        "group": "",
        "priority": 0,
        "controller": "ReplicaSet web",
    }
    assert proposal == {
        "starts": "default/big",
        "group": False,
        "started": {"default/big": "one"},
        "label": "",
        "frees": [],
        "keep": ["one"],
        "fewest": True,
    }


def test_without_moves_it_ends_with_1_and_the_reason(tmp_path: Path) -> None:
    guarded = [*CLUSTER[:2], runs("a", "one", "1").labels(app="db"), CLUSTER[3], budget(0, app="db")]
    result = defrag("--from", dumped(tmp_path, *guarded))
    assert result.exit_code == 1
    reason, last = result.stdout.splitlines()
    assert reason.startswith("default/big: no moves help; 0/2 nodes are available: 2 Insufficient cpu.")
    assert last == "No moves are proposed."


def test_nodes_that_cannot_be_freed_are_named_ten_at_a_time(tmp_path: Path) -> None:
    lone = [make_node(f"n-{at:02}") for at in range(12)]
    pods = [runs(f"p-{at:02}", f"n-{at:02}", "1") for at in range(12)]
    for pod in pods:
        pod["metadata"]["ownerReferences"] = []
    dump = dumped(tmp_path, *lone, *pods)
    lines = defrag("--from", dump, "--free", "nodes").stdout.splitlines()
    assert lines[0] == "n-00: pod default/p-00 stays: no controller would replace it"
    assert lines[10:] == ["and 2 more, which -o wide names", "No moves are proposed."]
    assert len(defrag("--from", dump, "--free", "nodes", "-o", "wide").stdout.splitlines()) == 13


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("--group", "default/big", "--free", "nodes"), "give either --group or --free"),
        (("--group", "big"), "--group needs NAMESPACE/NAME"),
        (("--count", "2"), "--count needs --free"),
        (("--apply",), "--apply changes the live cluster, and prints its steps: leave out --from and -o"),
    ],
)
def test_options_that_contradict_each_other_are_refused(tmp_path: Path, arguments: tuple[str, ...], fault: str) -> None:
    result = defrag("--from", dumped(tmp_path, *CLUSTER), *arguments)
    assert (result.exit_code, fault in result.output) == (2, True)


def test_a_dump_without_nodes_is_refused(tmp_path: Path) -> None:
    result = defrag("--from", dumped(tmp_path, waits("big", "4")))
    assert (result.exit_code, "no nodes in" in result.output) == (2, True)


def test_nothing_is_evicted_without_a_yes(sandbox: Sandbox, kubeconfig: Path) -> None:
    result = defrag("--kubeconfig", kubeconfig, "--apply", stdin="n\n")
    assert result.exit_code == 1
    assert "Evict 1 pod? [y/N]: n" in result.output
    assert "deletionTimestamp" not in sandbox.store.get(PODS, "a", namespace="default").obj["metadata"]
    assert "unschedulable" not in sandbox.store.get(NODES, "one").obj["spec"]


def test_after_a_yes_the_pod_is_evicted_and_a_missing_replacement_ends_it(sandbox: Sandbox, kubeconfig: Path) -> None:
    result = defrag("--kubeconfig", kubeconfig, "--apply", "--timeout", "1", stdin="y\n")
    assert result.exit_code == 1
    assert "evicted default/a from one" in result.stdout
    assert "0 pods moved, then stopped: " in result.output
    assert not sandbox.store.get(NODES, "one").obj["spec"].get("unschedulable"), "it is uncordoned again"
