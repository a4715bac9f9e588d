"""`muster hold` and `muster resume`, called on an embedded cluster that serves groups of both kinds and trees."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from muster.operator.cli import complete_for_kubectl
from muster.plugins.coscheduling.definition import definition
from muster.sandbox import Sandbox
from tests.builders import make_pod
from tests.gangscheduling.world import make_composite, make_group, make_members
from tests.sandboxes import served

from .asking import ask, kubectl

_LABELLED, _NATIVE = "podgroup.scheduling.x-k8s.io", "podgroup.scheduling.k8s.io"
_TREE = "compositepodgroup.scheduling.k8s.io"
_REFERENCE = {"workloadName": "job", "templateName": "any"}


def _labelled(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", "annotations": {"example.com/team": "blue"}},
        "spec": {"minMember": 2},
    }


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """A group of each kind, two of one name, and a tree of two."""
    sandbox = Sandbox([definition()], native_groups=True, stand_ins=False)
    sandbox.nodes(1)
    pods = [make_pod(f"train-{n}").labels({"scheduling.x-k8s.io/pod-group": "train"}) for n in range(2)]
    objects = [
        _labelled("train"),
        _labelled("alike"),
        make_group("alike", 2),
        make_group("other", 2),
        make_composite("job", 2, workloadRef=_REFERENCE),
        *(make_group(part, 1, parentCompositePodGroupName="job") for part in ("left", "right")),
        *pods,
        *make_members("left", 1),
    ]
    with served(sandbox, objects, tmp_path) as found:
        yield found


def _annotations(kubeconfig: Path, resource: str) -> dict[str, str]:
    words = ["kubectl", "--kubeconfig", str(kubeconfig), "get", resource.replace(".", "s.", 1), "-o", "json"]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    annotations: dict[str, str] = found["metadata"].get("annotations", {})
    return annotations


def test_a_group_is_held_with_reason_user_and_time_and_resumed_with_the_user_alone(kubeconfig: Path) -> None:
    before = _annotations(kubeconfig, f"{_LABELLED}/train")
    held = ask("hold", "train", "--reason", "rack 4 moves", "--kubeconfig", str(kubeconfig))
    assert (held.exit_code, held.output) == (0, f"{_LABELLED}/train held\n")
    now = _annotations(kubeconfig, f"{_LABELLED}/train")
    since = now.pop("muster-scheduler.io/held-since")
    assert (len(since), since[-1]) == (20, "Z")
    assert now == before | {
        "muster-scheduler.io/hold": "rack 4 moves",
        "muster-scheduler.io/held-by": "sandbox",
    }

    again = ask("hold", "train", "--kubeconfig", str(kubeconfig))
    kept = f"{_LABELLED}/train has already been held by sandbox since {since}: rack 4 moves\n"
    assert (again.exit_code, again.output) == (0, kept)
    assert _annotations(kubeconfig, f"{_LABELLED}/train") == now | {"muster-scheduler.io/held-since": since}
    replaced = ask("hold", "train", "--reason", "rack 5 moves", "--kubeconfig", str(kubeconfig))
    assert (replaced.exit_code, replaced.output) == (0, f"{_LABELLED}/train held (was: rack 4 moves)\n")
    assert _annotations(kubeconfig, f"{_LABELLED}/train")["muster-scheduler.io/hold"] == "rack 5 moves"

    resumed = ask("resume", "train", "--kubeconfig", str(kubeconfig))
    assert (resumed.exit_code, resumed.output) == (0, f"{_LABELLED}/train resumed\n")
    assert _annotations(kubeconfig, f"{_LABELLED}/train") == before | {"muster-scheduler.io/resumed-by": "sandbox"}
    again = ask("resume", "train", "--kubeconfig", str(kubeconfig))
    assert (again.exit_code, again.output) == (0, f"{_LABELLED}/train is not held\n")


@pytest.mark.parametrize(
    ("words", "resource"),
    [
        (["alike"], f"{_LABELLED}/alike"),
        (["other"], f"{_NATIVE}/other"),
        (["pg", "other"], f"{_NATIVE}/other"),
        ([f"{_NATIVE}/alike"], f"{_NATIVE}/alike"),
        (["compositepodgroup", "job"], f"{_TREE}/job"),
    ],
)
def test_a_group_is_found_by_its_name_and_kind(kubeconfig: Path, words: Sequence[str], resource: str) -> None:
    assert ask("hold", *words, "--kubeconfig", str(kubeconfig)).output == f"{resource} held\n"
    assert _annotations(kubeconfig, resource)["muster-scheduler.io/hold"] == ""


@pytest.mark.parametrize("command", ["hold", "resume"])
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["ghost"], 1, 'podgroups.scheduling.x-k8s.io "ghost" not found'),
        (["train", "-n", "elsewhere"], 1, 'podgroups.scheduling.x-k8s.io "train" not found'),
        (["compositepodgroup/ghost"], 1, 'compositepodgroups.scheduling.k8s.io "ghost" not found'),
        (["pod/train-0"], 2, "a pod is no PodGroup or CompositePodGroup"),
        (["one", "two", "three"], 2, "give one NAME"),
        (["pg/"], 2, "give one NAME"),
        ([], 2, "Missing argument"),
    ],
)
def test_a_group_that_does_not_exist_is_a_clear_error(
    kubeconfig: Path, command: str, words: Sequence[str], code: int, message: str
) -> None:
    found = ask(command, *words, "--kubeconfig", str(kubeconfig))
    assert found.exit_code == code
    assert message in found.stderr


def test_a_held_group_is_shown_as_held_without_a_scheduler(kubeconfig: Path) -> None:
    ask("hold", "train", "--reason", "rack 4 moves", "--kubeconfig", str(kubeconfig))
    since = _annotations(kubeconfig, f"{_LABELLED}/train")["muster-scheduler.io/held-since"]
    text = f"pod group default/train has been held by sandbox since {since}: rack 4 moves"

    why = ask("why", "train", "--kubeconfig", str(kubeconfig))
    assert f"Held: {text}" in why.stdout.splitlines()
    assert "Place" not in why.stdout
    assert json.loads(ask("why", "train", "-o", "json", "--kubeconfig", str(kubeconfig)).stdout)["held"] == text
    groups = ask("groups", "-o", "wide", "--kubeconfig", str(kubeconfig)).stdout.splitlines()
    [row] = [line for line in groups if line.startswith("train ")]
    assert row.partition(" Held ")[2].strip() == text.removeprefix("pod group default/train ")
    assert text in ask("why", "pod/train-0", "--kubeconfig", str(kubeconfig)).stdout.replace("\n", " ")


def test_a_group_in_a_held_tree_is_shown_as_held(kubeconfig: Path) -> None:
    ask("hold", "compositepodgroup/job", "--kubeconfig", str(kubeconfig))
    told = ask("why", "compositepodgroup/job", "--kubeconfig", str(kubeconfig)).stdout
    assert told.count("composite pod group default/job has been held by sandbox since") >= 2


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["hold", "t"], ["train", ":4"]),
        (["resume", "compositepodgroup", ""], ["job", ":4"]),
        (["hold", "pg/o"], ["pg/other", ":4"]),
    ],
)
def test_names_of_groups_are_completed(
    kubeconfig: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: Sequence[str],
    offered: list[str],
) -> None:
    command, *rest = words
    monkeypatch.setattr("sys.argv", ["kubectl_complete-muster", command, "--kubeconfig", str(kubeconfig), *rest])
    complete_for_kubectl()
    assert capsys.readouterr().out.splitlines() == offered


def test_kubectl_holds_a_group_as_well(kubeconfig: Path) -> None:
    kubectl(kubeconfig, "annotate", "podgroups.scheduling.x-k8s.io/train", "muster-scheduler.io/hold=")
    assert "Held: pod group default/train is held" in ask("why", "train", "--kubeconfig", str(kubeconfig)).stdout
