"""`muster why`, `muster groups`, `muster explain` and completion, asked of an embedded cluster."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.operator.cli import complete_for_kubectl
from muster.plugins.coscheduling.definition import definition
from muster.sandbox import Sandbox
from muster.sandbox.contents import NodeShape
from tests.builders import PodDict, make_pod
from tests.sandboxes import served

from .asking import MUSTER, ask, kubectl, watching

FULL = (
    "0/4 nodes are available: 4 Insufficient cpu. "
    "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
)

TOO_FEW = (
    "0/4 nodes are available: pre-filter pod train-0 cannot find enough sibling pods, current pods number: 1, "
    "minMember of group: 3."
)
_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


def _group(name: str, min_member: int, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", "labels": dict(labels)},
        "spec": {"minMember": min_member},
    }


def _member(name: str, *, cpu: str) -> PodDict:
    return make_pod(name).labels({_GROUP_LABEL: name.rpartition("-")[0]}).requests(cpu=cpu)


_GROUPS = {"many": 5, "train": 3, "wide": 2}
_PODS = [
    make_pod("huge").requests(cpu="64"),
    _member("train-0", cpu="1"),
    make_pod("foreign").requests(cpu="64").scheduler("default-scheduler"),
    make_pod("mistyped").scheduler("mustre"),
    make_pod("placed").node("node-2"),
    make_pod("gated").gate("example.com/budget"),
    *(_member(f"wide-{number}", cpu="3") for number in range(2)),
    *(_member(f"many-{number}", cpu="2") for number in range(5)),
]


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    sandbox = Sandbox([definition()], stand_ins=False)
    sandbox.nodes(4, shape=NodeShape(cpu="2"))
    groups = [_group(name, count, {"team": "blue"} if name == "train" else {}) for name, count in _GROUPS.items()]
    with served(sandbox, [*groups, *_PODS], tmp_path_factory.mktemp("asking")) as kubeconfig:
        yield kubeconfig


def test_why_finds_a_group_by_its_bare_name(kubeconfig: Path) -> None:
    shown = ask("why", "train", "--kubeconfig", str(kubeconfig))
    assert shown.exit_code == 0
    assert "default/train needs 3 pods, 1 exists, 0 have nodes" in shown.output
    assert "train-0" in shown.output


def test_why_shows_a_group_for_programs(kubeconfig: Path) -> None:
    shown = json.loads(ask("why", "pg/train", "-o", "json", "--kubeconfig", str(kubeconfig)).stdout)
    assert shown == {
        "podGroup": "default/train",
        "minMember": 3,
        "phase": "",
        "scheduled": 0,
        "running": 0,
        "succeeded": 0,
        "failed": 0,
        "reason": "",
        "message": "",
        "held": "",
        "members": [{"pod": "train-0", "phase": "Pending", "node": "", "message": ""}],
        "scheduleStartTime": "",
        "now": {
            "reason": TOO_FEW,
            "evicted": [],
            "blocked": "default/train-0",
            "selector": "",
            "size": "",
            "nodes": [],
            "lack": None,
            "help": None,
            "hopeless": False,
            "ending": [],
            "starts": [],
            "place": 2,
            "ahead": ["default/many"],
            "waiting": 3,
            "quota": [],
        },
    }


def test_why_shows_where_members_of_a_group_fit_what_stops_the_next_and_what_would_help(kubeconfig: Path) -> None:
    shown = ask("why", "pg/many", "--kubeconfig", str(kubeconfig)).stdout.splitlines()
    assert shown[:9] == [
        "default/many needs 5 pods, 5 exist, 0 have nodes",
        "Tried now: pod group default/many is unschedulable, 4 of the 5 members that it needs fit; with those 4 "
        "placed: 0/4 nodes are available: 4 Insufficient cpu.",
        "Capacity for 1 more member is lacking: 2 cpu on one node.",
        "1 more node like node-1 (2 cpu, 32Gi memory, 110 pods, 100Gi ephemeral-storage) would make the rest fit.",
        "Place 1 of 3 waiting groups.",
        "",
        "NODES   TAKE   THEN               WHICH",
        "4       4      Insufficient cpu   node-1, node-2, node-3 and 1 more",
        "",
    ]
    wide = ask("why", "pg/many", "-o", "wide", "--kubeconfig", str(kubeconfig)).stdout
    assert "node-1, node-2, node-3, node-4" in wide
    programs = json.loads(ask("why", "pg/many", "-o", "json", "--kubeconfig", str(kubeconfig)).stdout)["now"]
    assert (programs["blocked"], programs["place"], programs["ahead"]) == ("default/many-4", 1, [])
    nodes = [f"node-{n}" for n in range(1, 5)]
    verdict = {"reason": "Insufficient cpu", "plugin": "NodeResourcesFit", "code": "Unschedulable"}
    assert programs["nodes"] == [{**verdict, "took": 4, "nodes": nodes}]


def test_a_terminal_shows_that_members_are_being_tried_and_no_trace_of_it_afterwards(kubeconfig: Path) -> None:
    terminal, errors = os.openpty()
    try:
        words = [str(MUSTER), "why", "pg/many", "--config", "default", "--kubeconfig", str(kubeconfig)]
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=errors, check=True)
        os.close(errors)  # so that reading ends even if nothing was written
        assert os.read(terminal, 1000).decode() == "trying 5 members …\r\x1b[K"
    finally:
        os.close(terminal)


def test_why_explains_a_pod(kubeconfig: Path) -> None:
    shown = json.loads(ask("why", "huge", "-o", "json", "--kubeconfig", str(kubeconfig)).stdout)
    assert shown["message"] == FULL


def test_why_shows_a_table_by_default(kubeconfig: Path) -> None:
    shown = ask("why", "pod/huge", "--kubeconfig", str(kubeconfig))
    assert "default/huge (not on a node), decided by profile muster" in shown.output
    assert "Insufficient cpu" in shown.output


def _explained(kubeconfig: Path, pod: str) -> Any:
    return json.loads(ask("why", f"pod/{pod}", "-o", "json", "--kubeconfig", str(kubeconfig)).stdout)


def test_why_counts_the_siblings_of_a_member_with_the_member_itself(kubeconfig: Path) -> None:
    shown = _explained(kubeconfig, "train-0")
    assert shown["prefilter"]["reasons"] == [
        "pre-filter pod train-0 cannot find enough sibling pods, current pods number: 1, minMember of group: 3"
    ]


def test_why_finds_what_nodes_lack_for_a_member_of_a_complete_group(kubeconfig: Path) -> None:
    shown = _explained(kubeconfig, "wide-0")
    assert "prefilter" not in shown
    assert shown["message"] == FULL


def test_why_shows_for_a_member_that_fits_alone_what_its_group_lacks(kubeconfig: Path) -> None:
    verdict = (
        "pod group default/many is unschedulable, 4 of the 5 members that it needs fit; with those 4 placed: "
        "0/4 nodes are available: 4 Insufficient cpu."
    )
    shown = _explained(kubeconfig, "many-0")
    assert (len(shown["feasible"]), shown["group"]) == (4, verdict)
    assert verdict in " ".join(ask("why", "pod/many-0", "--kubeconfig", str(kubeconfig)).stdout.split())


@pytest.mark.parametrize("pod", ["train-0", "wide-0", "many-0"])
def test_why_leads_from_a_waiting_member_to_its_group(kubeconfig: Path, pod: str) -> None:
    group = pod.rpartition("-")[0]
    shown = ask("why", f"pod/{pod}", "--kubeconfig", str(kubeconfig)).stdout.splitlines()
    [line] = [each for each in shown if each.startswith("Member of ")]
    command = f"muster why podgroup/{group} -n default"
    assert line == f"Member of PodGroup default/{group}: see {command}"
    assert ask(*command.split()[1:], "-o", "name", "--kubeconfig", str(kubeconfig)).exit_code == 0


def test_why_says_once_why_no_node_was_looked_at(kubeconfig: Path) -> None:
    shown = ask("why", "pod/train-0", "--kubeconfig", str(kubeconfig)).stdout
    reason = TOO_FEW.removeprefix("0/4 nodes are available: ").removesuffix(".")
    assert shown.splitlines()[1] == f"Coscheduling: {reason}"
    assert shown.count("sibling pods") == 1


def test_why_decides_for_a_pod_on_a_node_as_if_it_were_to_be_placed_again(kubeconfig: Path) -> None:
    shown = _explained(kubeconfig, "placed")
    assert shown["feasible"] == ["node-1", "node-2", "node-3", "node-4"]
    text = ask("why", "pod/placed", "--kubeconfig", str(kubeconfig)).stdout
    assert "default/placed (on node-2), decided by profile muster" in text


def test_why_does_not_say_where_a_gated_pod_could_run(kubeconfig: Path) -> None:
    shown = _explained(kubeconfig, "gated")
    assert shown == {
        "pod": "default/gated",
        "schedulerName": "muster",
        "profile": "muster",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }
    text = " ".join(ask("why", "pod/gated", "--kubeconfig", str(kubeconfig)).stdout.split())
    assert text.endswith("decided by profile muster Scheduling is blocked due to non-empty scheduling gates")


@pytest.mark.parametrize(
    ("pod", "answer"), [("foreign", "default-scheduler"), ("mistyped", "mustre (did you mean muster?)")]
)
def test_why_says_that_no_profile_answers_to_a_pod(kubeconfig: Path, pod: str, answer: str) -> None:
    shown = _explained(kubeconfig, pod)
    assert (shown["schedulerName"], shown["profile"]) == (answer.split()[0], "muster")
    assert ask("why", f"pod/{pod}", "--kubeconfig", str(kubeconfig)).stdout.splitlines()[:2] == [
        f"default/{pod} (not on a node): no profile answers to {answer}, so the pod waits for a scheduler of that name",
        "Decided as if by profile muster:",
    ]


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("pg/nothing", 1, 'podgroups.scheduling.x-k8s.io "nothing" not found'),
        ("pod/nothing", 1, 'pods "nothing" not found'),
        ("nothing", 1, 'Error: neither a PodGroup nor a pod "nothing" in namespace default\n'),
        ("deploy/web", 2, "a deploy is no pod, PodGroup or CompositePodGroup"),
    ],
)
def test_why_says_what_is_not_there(kubeconfig: Path, name: str, code: int, text: str) -> None:
    shown = ask("why", name, "--kubeconfig", str(kubeconfig))
    assert shown.exit_code == code
    assert text in shown.output


def test_groups_lists_every_group_of_the_namespace_as_the_api_has_it(kubeconfig: Path) -> None:
    shown = json.loads(ask("groups", "-A", "-o", "json", "--kubeconfig", str(kubeconfig)).stdout)
    assert (shown["kind"], shown["apiVersion"]) == ("List", "v1")
    found = [(each["kind"], each["metadata"]["name"], each["spec"]["minMember"]) for each in shown["items"]]
    assert found == [("PodGroup", name, count) for name, count in _GROUPS.items()]
    assert yaml.safe_load(ask("groups", "-A", "-o", "yaml", "--kubeconfig", str(kubeconfig)).stdout) == shown


def test_groups_are_kubectls_columns(kubeconfig: Path) -> None:
    first, second, *_ = ask("groups", "many", "train", "--kubeconfig", str(kubeconfig)).stdout.splitlines()
    assert first.split() == ["NAME", "PHASE", "MINMEMBER", "SCHEDULED", "RUNNING", "AGE", "REASON", "MESSAGE"]
    assert second.split()[:4] == ["many", "5", "0", "0"]
    wide = [
        line.split() for line in ask("groups", "-A", "-o", "wide", "--kubeconfig", str(kubeconfig)).stdout.splitlines()
    ]
    titles = ["SUCCEEDED", "FAILED", "OCCUPIED-BY", "PARENT", "PLACE", "WAITED"]
    assert (wide[0][0], wide[0][6:12]) == ("NAMESPACE", titles)
    places = [line.index("<none>") + 2 for line in wide[1:]]
    assert [line[at] for line, at in zip(wide[1:], places, strict=True)] == ["1", "2", "3"]


def test_groups_are_chosen_by_name_and_by_label(kubeconfig: Path) -> None:
    by_name = ask("groups", "wide", "many", "-o", "name", "--kubeconfig", str(kubeconfig))
    assert by_name.output == "podgroup.scheduling.x-k8s.io/wide\npodgroup.scheduling.x-k8s.io/many\n"
    by_label = ask("groups", "-l", "team=blue", "-o", "name", "--kubeconfig", str(kubeconfig))
    assert by_label.output == "podgroup.scheduling.x-k8s.io/train\n"
    missing = ask("groups", "nothing", "--kubeconfig", str(kubeconfig))
    assert (missing.exit_code, missing.output) == (1, 'Error: podgroups.scheduling.x-k8s.io "nothing" not found\n')


def test_an_empty_list_says_so_beside_the_output(kubeconfig: Path) -> None:
    shown = ask("groups", "-n", "kube-system", "--kubeconfig", str(kubeconfig))
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert shown.stderr == "No resources found in kube-system namespace.\n"
    everywhere = ask("groups", "-A", "-l", "team=green", "--kubeconfig", str(kubeconfig))
    assert everywhere.stderr == "No resources found.\n"


def test_a_watch_prints_what_there_is_and_then_what_changes(kubeconfig: Path) -> None:
    command = ("groups", "train", "-w", "--kubeconfig", str(kubeconfig))
    with watching(*command) as printed:
        assert printed.readline().startswith("NAME")
        assert printed.readline().split()[:2] == ["train", "3"]
        kubectl(kubeconfig, "patch", "podgroup", "train", "--type=merge", "-p", '{"spec":{"minMember":4}}')
        assert printed.readline().split()[:2] == ["train", "4"]
        kubectl(kubeconfig, "patch", "podgroup", "train", "--type=merge", "-p", '{"spec":{"minMember":3}}')


def test_a_watch_that_a_shell_runs_in_the_background_ends_by_an_interrupt_too(kubeconfig: Path) -> None:
    with watching("groups", "train", "-w", "--kubeconfig", str(kubeconfig), ignoring_interrupts=True) as printed:
        assert printed.readline().startswith("NAME")


@pytest.mark.parametrize("words", [("pod", "huge"), ("po/huge",)])
def test_why_takes_a_kind_and_a_name_as_kubectl_does(kubeconfig: Path, words: Sequence[str]) -> None:
    assert ask("why", *words, "-o", "name", "--kubeconfig", str(kubeconfig)).stdout == "pod/huge\n"
    group = ask("why", "podgroup", "train", "-o", "name", "--kubeconfig", str(kubeconfig))
    assert group.output == "podgroup.scheduling.x-k8s.io/train\n"


def test_another_context_and_another_user_are_chosen_as_with_kubectl(kubeconfig: Path) -> None:
    words = ("groups", "-A", "-o", "name", "--kubeconfig", str(kubeconfig))
    refused = ask(*words, "--context", "elsewhere")
    assert refused.exit_code == 2
    assert "context 'elsewhere' does not exist" in refused.output
    assert ask(*words, "--context", "sandbox", "--as", "jane", "--as-group", "dev").exit_code == 0
    assert ask(*words, "--as-group", "dev").exit_code == 2


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("groups", "tr"), ["train", ":4"]),
        (("why", "hu"), ["huge", ":4"]),
        (("why", "pod", "wide"), ["wide-0", "wide-1", ":4"]),
        (("why", "pg/wi"), ["pg/wide", ":4"]),
        (("explain", "pl"), ["placed", ":4"]),
        (("groups", "-n", "kube-s"), ["kube-system", ":4"]),
        (("groups", "--context", "s"), ["sandbox", ":4"]),
        (("simulate", "-f", "any"), [":0"]),
    ],
)
def test_the_shell_offers_what_the_cluster_has(
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


@pytest.mark.parametrize(
    ("sink", "code", "message"),
    [("closed pipe", -signal.SIGPIPE, ""), ("/dev/full", 1, "No space left on device")],
)
@pytest.mark.parametrize("words", [("groups", "-A"), ("why", "pod/huge"), ("simulate", "-f", "-")])
def test_a_closed_output_ends_a_command_without_a_traceback(
    kubeconfig: Path, sink: str, code: int, message: str, words: Sequence[str]
) -> None:
    if sink == "closed pipe":
        reader, output = os.pipe()
        os.close(reader)
    else:
        output = os.open(sink, os.O_WRONLY)
    wanted = json.dumps(make_pod("wanted").requests(cpu="99"))
    try:
        ended = subprocess.run(
            [str(MUSTER), *words, "--kubeconfig", str(kubeconfig)],
            input=wanted,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(output)
    assert ended.returncode == code
    assert ended.stderr == (f"Error: standard output cannot be written: {message}\n" if message else "")


def test_the_name_of_a_command_that_is_mistyped_is_suggested() -> None:
    shown = ask("grups")
    assert (shown.exit_code, shown.output.splitlines()[-1]) == (
        2,
        "Error: No such command 'grups'. Did you mean 'groups'?",
    )


def test_a_kubeconfig_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    shown = ask("groups", "--kubeconfig", str(tmp_path / "missing"))
    assert shown.exit_code == 2
    assert "missing" in shown.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(shell: str) -> None:
    shown = ask("completion", shell)
    assert shown.exit_code == 0
    assert "_MUSTER_COMPLETE" in shown.output


def test_kubectl_gets_the_subcommands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-muster", "si"])
    complete_for_kubectl()
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition("\t")[0] for line in lines] == ["simulate", ":4"]
