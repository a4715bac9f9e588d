"""`muster why`, `muster groups`, `muster explain` and completion, asked of an embedded cluster."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from click.testing import CliRunner, Result

from muster.operator.cli import main
from muster.operator.commands.completion import complete_for_kubectl
from muster.operator.podgroups.definition import definition
from muster.sandbox import Sandbox
from muster.sandbox.contents import NodeShape
from muster.sandbox.kinds import PODS
from tests.builders import PodDict, make_pod

FULL = (
    "0/4 nodes are available: 4 Insufficient cpu. "
    "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
)

_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


def _group(name: str, min_member: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": min_member},
    }


def _member(name: str, *, cpu: str) -> PodDict:
    return make_pod(name).labels({_GROUP_LABEL: name.rpartition("-")[0]}).requests(cpu=cpu)


_GROUPS = {"many": 5, "train": 3, "wide": 2}
_PODS = [
    make_pod("huge").requests(cpu="64"),
    _member("train-0", cpu="1"),
    make_pod("foreign").requests(cpu="64").scheduler("default-scheduler"),
    make_pod("placed").node("node-2"),
    make_pod("gated").gate("example.com/budget"),
    *(_member(f"wide-{number}", cpu="3") for number in range(2)),
    *(_member(f"many-{number}", cpu="2") for number in range(5)),
]


async def _serve(folder: Path, ready: Event, over: Event) -> None:
    sandbox = Sandbox([definition()], stand_ins=False)
    sandbox.nodes(4, shape=NodeShape(cpu="2"))
    group = sandbox.store.kinds.by_type("scheduling.x-k8s.io/v1alpha1", "PodGroup")
    assert group is not None
    async with sandbox:
        sandbox.kubeconfig(folder / "kubeconfig")
        for name, min_member in _GROUPS.items():
            sandbox.store.create(group, _group(name, min_member), namespace="default")
        for pod in _PODS:
            sandbox.store.create(PODS, dict(pod), namespace="default")
        ready.set()
        await asyncio.to_thread(over.wait)


def _in_thread(work: Callable[[], Awaitable[None]]) -> Thread:
    async def run() -> None:
        await work()

    thread = Thread(target=lambda: asyncio.run(run()))
    thread.start()
    return thread


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder, ready, over = tmp_path_factory.mktemp("asking"), Event(), Event()
    thread = _in_thread(lambda: _serve(folder, ready, over))
    assert ready.wait(30)
    yield folder / "kubeconfig"
    over.set()
    thread.join()


def _ask(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


def test_why_tells_of_a_group_by_its_bare_name(kubeconfig: Path) -> None:
    told = _ask("why", "train", "--kubeconfig", str(kubeconfig))
    assert told.exit_code == 0
    assert "default/train needs 3 pods, 1 exist" in told.output
    assert "train-0" in told.output


def test_why_tells_of_a_group_for_programs(kubeconfig: Path) -> None:
    told = json.loads(_ask("why", "pg/train", "-o", "json", "--kubeconfig", str(kubeconfig)).output)
    assert (told["podGroup"], told["minMember"], told["members"]) == ("default/train", 3, {"train-0": ""})


def test_why_explains_a_pod(kubeconfig: Path) -> None:
    told = json.loads(_ask("why", "huge", "-o", "json", "--kubeconfig", str(kubeconfig)).output)
    assert told["message"] == FULL


def test_why_shows_a_table_by_default(kubeconfig: Path) -> None:
    told = _ask("why", "pod/huge", "--kubeconfig", str(kubeconfig))
    assert "default/huge (not on a node), decided by profile muster" in told.output
    assert "Insufficient cpu" in told.output


def _explained(kubeconfig: Path, pod: str) -> Any:
    return json.loads(_ask("why", f"pod/{pod}", "-o", "json", "--kubeconfig", str(kubeconfig)).output)


def test_why_counts_the_siblings_of_a_member_with_the_member_itself(kubeconfig: Path) -> None:
    told = _explained(kubeconfig, "train-0")
    assert told["prefilter"]["reasons"] == [
        "pre-filter pod train-0 cannot find enough sibling pods, current pods number: 1, minMember of group: 3"
    ]


def test_why_finds_what_nodes_lack_for_a_member_of_a_complete_group(kubeconfig: Path) -> None:
    told = _explained(kubeconfig, "wide-0")
    assert "prefilter" not in told
    assert told["message"] == FULL


def test_why_tells_of_a_member_that_fits_alone_what_its_group_lacks(kubeconfig: Path) -> None:
    verdict = (
        "pod group default/many is unschedulable, 4 of the 5 members that it needs fit: "
        "0/4 nodes are available: 4 Insufficient cpu."
    )
    told = _explained(kubeconfig, "many-0")
    assert (len(told["feasible"]), told["group"]) == (4, verdict)
    assert verdict in " ".join(_ask("why", "pod/many-0", "--kubeconfig", str(kubeconfig)).output.split())


def test_why_decides_for_a_pod_on_a_node_as_if_it_were_to_be_placed_again(kubeconfig: Path) -> None:
    told = _explained(kubeconfig, "placed")
    assert told["feasible"] == ["node-1", "node-2", "node-3", "node-4"]
    text = _ask("why", "pod/placed", "--kubeconfig", str(kubeconfig)).output
    assert "default/placed (on node-2), decided by profile muster" in text


def test_why_does_not_say_where_a_gated_pod_could_run(kubeconfig: Path) -> None:
    told = _explained(kubeconfig, "gated")
    assert told == {
        "pod": "default/gated",
        "schedulerName": "muster",
        "profile": "muster",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }
    text = " ".join(_ask("why", "pod/gated", "--kubeconfig", str(kubeconfig)).output.split())
    assert text.endswith("decided by profile muster Scheduling is blocked due to non-empty scheduling gates")


def test_why_says_that_a_pod_names_another_scheduler(kubeconfig: Path) -> None:
    assert _explained(kubeconfig, "foreign")["schedulerName"] == "default-scheduler"
    text = _ask("why", "pod/foreign", "--kubeconfig", str(kubeconfig)).output
    assert "(not on a node), names scheduler default-scheduler; decided as if by profile muster" in " ".join(
        text.split()
    )


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("pg/nothing", 1, 'podgroups.scheduling.x-k8s.io "nothing" not found'),
        ("pod/nothing", 1, 'pods "nothing" not found'),
        ("deploy/web", 2, "a deploy is neither a pod nor a PodGroup"),
    ],
)
def test_why_says_what_is_not_there(kubeconfig: Path, name: str, code: int, text: str) -> None:
    told = _ask("why", name, "--kubeconfig", str(kubeconfig))
    assert told.exit_code == code
    assert text in told.output


def test_groups_lists_every_group_of_the_namespace(kubeconfig: Path) -> None:
    told = json.loads(_ask("groups", "-A", "-o", "json", "--kubeconfig", str(kubeconfig)).output)
    assert [(each["metadata"]["name"], each["spec"]["minMember"]) for each in told] == list(_GROUPS.items())
    assert "train" in _ask("groups", "--kubeconfig", str(kubeconfig)).output
    assert "train" not in _ask("groups", "-n", "kube-system", "--kubeconfig", str(kubeconfig)).output


def test_a_kubeconfig_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    told = _ask("groups", "--kubeconfig", str(tmp_path / "missing"))
    assert told.exit_code == 2
    assert "missing" in told.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(shell: str) -> None:
    told = _ask("completion", shell)
    assert told.exit_code == 0
    assert "_MUSTER_COMPLETE" in told.output


def test_kubectl_is_told_the_subcommands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-muster", "si"])
    complete_for_kubectl()
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition("\t")[0] for line in lines] == ["simulate", ":4"]
