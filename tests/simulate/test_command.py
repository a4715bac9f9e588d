"""The command line of `muster simulate`."""

import json
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner, Result

from muster.operator.cli import main
from tests.builders import PodDict, make_node, make_pod
from tests.commands.asking import BY_DEFAULT
from tests.controlplane.api import Api
from tests.simulate.rehearsing import member, pod_group

FULL = (
    "0/2 nodes are available: 2 Insufficient cpu. "
    "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
)

NODES = [make_node("one", cpu="2"), make_node("two", cpu="2")]


def simulate(*arguments: object, stdin: object = None) -> Result:
    text = None if stdin is None else json.dumps(stdin)
    return CliRunner().invoke(main, ["simulate", *map(str, arguments)], input=text)


def listed(*items: object) -> dict[str, object]:
    return {"kind": "List", "items": items}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(listed(*NODES)))
    return path


def gang(size: int) -> dict[str, object]:
    return listed(pod_group("gang", size), *(member(f"m-{n}", "gang").requests(cpu="1") for n in range(size)))


def test_all_that_fits_ends_with_0(dump: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.yaml"
    first.write_text(json.dumps(gang(3)))
    second.write_text("kind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main}]}")
    result = simulate("-f", first, "-f", second, "--from", dump, "-o", "json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["fits"] is True
    assert answer["missing"] is None
    assert [pod["pod"] for pod in answer["pods"]] == ["default/m-0", "default/m-1", "default/m-2", "default/web"]
    placed = {"pod": "default/m-0", "group": "default/gang", "node": "one", "reason": "", "selector": "", "size": ""}
    assert answer["pods"][0] == placed


def test_a_gang_that_does_not_fit_ends_with_1_and_the_missing_nodes(dump: Path) -> None:
    result = simulate("-f", "-", "--from", dump, "-o", "json", stdin=gang(7))
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["fits"] is False
    assert {pod["node"] for pod in answer["pods"]} == {""}
    assert {pod["reason"] for pod in answer["pods"]} == {
        "pod group default/gang is unschedulable, 4 of the 7 members that it needs fit; with those 4 placed: "
        "0/2 nodes are available: 2 Insufficient cpu."
    }
    allocatable = {"cpu": "2", "memory": "32Gi", "pods": "110"}
    sets = [{"name": "default/gang", "group": True, "pods": 7, "nodes": 2}]
    addition = {"nodes": 2, "like": "one", "allocatable": allocatable, "sets": sets}
    assert answer["missing"] == {"additions": [addition], "hopeless": []}


@pytest.mark.parametrize(
    ("wanted", "ending"),
    [
        (gang(2), ["2 of 2 pods would be scheduled."]),
        (
            gang(6),
            [
                "0 of 6 pods would be scheduled.",
                "1 more node like one (2 cpu, 32Gi memory, 110 pods) would make the rest fit.",
            ],
        ),
        (
            gang(7),
            [
                "0 of 7 pods would be scheduled.",
                "2 more nodes like one (2 cpu, 32Gi memory, 110 pods) would make the rest fit.",
            ],
        ),
        (
            listed(make_pod("large").requests(cpu="3")),
            [
                "No node has 3 cpu: the largest has 2.",
                "0 of 1 pod would be scheduled.",
                "More nodes of the shapes that the cluster has would not help.",
            ],
        ),
        (listed(make_pod("gated").gate("example.com/quota")), ["0 of 1 pod would be scheduled."]),
    ],
)
def test_people_read_a_table_and_a_verdict(dump: Path, wanted: dict[str, object], ending: list[str]) -> None:
    output = " ".join(simulate("-f", "-", "--from", dump, stdin=wanted).stdout.split())
    assert output.endswith(" ".join(ending))


def test_the_table_is_plain_and_loses_nothing_of_long_names_and_reasons(dump: Path) -> None:
    pod = make_pod(f"a-{'very-' * 15}long-name").requests(cpu="3")
    title, row, *rest = simulate("-f", "-", "--from", dump, stdin=pod).stdout.splitlines()
    assert title.split() == ["PODS", "PODGROUP", "NODES", "WHICH"]
    assert row.split() == ["1", "<none>", "<none>", pod.name]
    assert f"default/{pod.name}: {FULL}" in rest
    *_, reason = simulate("-f", "-", "--from", dump, "-o", "wide", stdin=pod).stdout.splitlines()[1].split("   ")
    assert reason == FULL


def test_the_reason_of_the_members_of_a_group_is_shown_once(dump: Path) -> None:
    shown = simulate("-f", "-", "--from", dump, stdin=gang(7)).stdout
    assert shown.count("is unschedulable") == 1
    assert "default/m-0 and 6 more: pod group default/gang is unschedulable" in shown


def test_members_of_a_group_and_like_pods_have_one_line_each_unless_the_output_is_wide(dump: Path) -> None:
    web = [make_pod(f"web-{number}").requests(cpu="600m") for number in range(5)]
    wanted = listed(*gang(9)["items"], *web, make_pod("other").requests(cpu="100m"))  # type: ignore[misc]
    shown = simulate("-f", "-", "--from", dump, stdin=wanted).stdout.splitlines()
    assert shown[:5] == [
        "PODS   PODGROUP       NODES      WHICH",
        "9      default/gang   <none>     m-0, m-1, m-2 and 6 more",
        "5      <none>         one, two   web-0, web-1, web-2 and 2 more",
        "1      <none>         two        other",
        "",
    ]
    assert shown[5].startswith("default/m-0 and 8 more: pod group default/gang is unschedulable, ")
    wide = simulate("-f", "-", "--from", dump, "-o", "wide", stdin=wanted).stdout.splitlines()
    assert wide[0].split() == ["POD", "PODGROUP", "NODE", "REASON"]
    assert [line.split()[0] for line in wide[1:16]] == [
        *(f"default/m-{number}" for number in range(9)),
        *(f"default/web-{number}" for number in range(5)),
        "default/other",
    ]


def test_pods_of_several_namespaces_are_named_with_them(dump: Path) -> None:
    wanted = listed(make_pod("web"), make_pod("db", namespace="team"))
    shown = simulate("-f", "-", "--from", dump, stdin=wanted).stdout.splitlines()
    assert [line.split()[-1] for line in shown[1:3]] == ["default/web", "team/db"]


def test_the_namespace_of_pods_that_name_none_may_be_chosen(dump: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "main"}]}}
    answer = json.loads(simulate("-f", "-", "--from", dump, "-n", "team", "-o", "json", stdin=pod).stdout)
    assert [each["pod"] for each in answer["pods"]] == ["team/web"]


def test_reasons_that_differ_in_the_names_of_pods_alone_are_shown_once(dump: Path) -> None:
    few = listed(pod_group("gang", 9), *(member(f"m-{n}", "gang") for n in range(3)))
    shown = simulate("-f", "-", "--from", dump, stdin=few).stdout
    assert shown.count("cannot find enough sibling pods") == 1
    assert "default/m-0 and 2 more: " in shown


def test_the_selector_that_nodes_do_not_match_is_shown(dump: Path) -> None:
    pods = [make_pod(f"p-{n}").node_selector({"disk": "fast", "kubernetes.io/hostname": "one"}) for n in range(2)]
    result = simulate("-f", "-", "--from", dump, stdin=listed(*pods))
    assert result.stdout.splitlines()[4] == (
        "Its node selector: disk=fast (0 of 2 nodes match), kubernetes.io/hostname=one (1 of 2 nodes match); "
        "0 of 2 match all of it."
    )
    answer = json.loads(simulate("-f", "-", "--from", dump, "-o", "json", stdin=listed(*pods)).stdout)
    assert {each["selector"] for each in answer["pods"]} == {result.stdout.splitlines()[4]}


def test_manifests_come_from_folders_and_from_urls(dump: Path, tmp_path: Path) -> None:
    folder = tmp_path / "wanted"
    (folder / "deeper").mkdir(parents=True)
    (folder / "a.yaml").write_text(json.dumps(make_pod("first")))
    (folder / "b.json").write_text(json.dumps(make_pod("second")))
    (folder / "notes.txt").write_text("no manifest: [")
    (folder / "deeper" / "c.yml").write_text(json.dumps(make_pod("third")))

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        try:
            fetched = simulate("-f", f"{url}/a.yaml", "--from", dump, "-o", "json")
            missing = simulate("-f", f"{url}/nothing.yaml", "--from", dump)
        finally:
            server.shutdown()
            thread.join()

    def names(result: Result) -> list[str]:
        return [each["pod"] for each in json.loads(result.stdout)["pods"]]

    assert names(fetched) == ["default/first"]
    assert (missing.exit_code, "the server answered 404" in missing.output) == (2, True)
    flat = simulate("-f", folder, "--from", dump, "-o", "json")
    assert names(flat) == ["default/first", "default/second"]
    deep = simulate("-R", "-f", folder, "--from", dump, "-o", "json")
    assert names(deep) == ["default/first", "default/second", "default/third"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "wanted.yaml: "),
        ("kind: Pod\nmetadata: {name: web}\nspec: {containers: 3}", "wanted.yaml: Pod web: "),
        (None, "wanted.yaml: No such file or directory"),
    ],
)
def test_bad_input_ends_with_2_and_its_name(dump: Path, tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "wanted.yaml"
    if content is not None:
        file.write_text(content)
    result = simulate("-f", file, "--from", dump)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {tmp_path}/{message}")


def test_a_pod_to_which_no_profile_answers_is_not_scheduled_and_one_that_chooses_no_scheduler_yet_is_tried(
    dump: Path,
) -> None:
    nameless = make_pod("nameless")
    del nameless["spec"]["schedulerName"]
    pods = [nameless, make_pod("web").scheduler("default-scheduler"), make_pod("job").scheduler("b"), make_pod("own")]
    result = simulate("-f", "-", "--from", dump, stdin=listed(*pods))
    assert result.exit_code == 1
    assert "default/job: no profile answers to b, so the pod waits for a scheduler of that name" in result.stdout
    assert result.stdout.endswith("3 of 4 pods would be scheduled.\n")
    assert result.stderr.splitlines() == [
        "2 pods name scheduler default-scheduler; decided as if by profile muster",
        *BY_DEFAULT.splitlines(),
    ]


CRON_JOB = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}}


def test_everything_that_was_left_out_is_reported(dump: Path) -> None:
    result = simulate("-f", "-", "--from", dump, stdin=listed(CRON_JOB, CRON_JOB, make_pod("web")))
    assert result.exit_code == 0
    assert result.stderr == f"left out: 2 of batch/v1 CronJob\n{BY_DEFAULT}"


@pytest.mark.parametrize(
    ("version", "hint"),
    [
        ("kubeflow.org/v2beta1", "; its pods, if any, are made by its operator: simulate the pods"),
        ("leaderworkerset.x-k8s.io/v1", "; its pods, if any, are made by its operator: simulate the pods"),
        ("networking.k8s.io/v1", ""),
        ("v1", ""),
    ],
)
def test_the_pods_of_custom_resources_are_left_to_their_operators(dump: Path, version: str, hint: str) -> None:
    custom = {"apiVersion": version, "kind": "Some", "metadata": {"name": "own"}}
    result = simulate("-f", "-", "--from", dump, stdin=custom)
    assert (result.exit_code, result.stderr) == (2, f"left out: 1 of {version} Some{hint}\nError: no pods in -\n")


@pytest.mark.parametrize("content", ["", "---\n", json.dumps(CRON_JOB), json.dumps(pod_group("gang", 3))])
def test_files_without_pods_are_bad_input(dump: Path, tmp_path: Path, content: str) -> None:
    files = [tmp_path / "one.yaml", tmp_path / "two.yaml"]
    for file in files:
        file.write_text(content)
    result = simulate("-f", files[0], "-f", files[1], "--from", dump)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == f"Error: no pods in {files[0]}, {files[1]}"


def test_a_dump_without_nodes_is_bad_input(tmp_path: Path) -> None:
    empty = tmp_path / "dump.json"
    empty.write_text(json.dumps(listed()))
    result = simulate("-f", "-", "--from", empty, stdin=make_pod("web"))
    assert result.exit_code == 2
    assert result.stderr == f"Error: no nodes in {empty}\n"


def test_a_configuration_file_is_obeyed(dump: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("kind: Nonsense")
    assert simulate("-f", "-", "--from", dump, "--config", config, stdin=make_pod("web")).exit_code == 2


def test_the_live_cluster_is_read_and_left_alone(
    api: Api, namespace: str, admin_kubeconfig: Path, tmp_path: Path
) -> None:
    api.post("/api/v1/nodes", make_node("live", cpu="1"))
    try:
        pod = PodDict(make_pod("web", namespace=namespace).requests(cpu="1"))
        result = simulate("-f", "-", "--kubeconfig", admin_kubeconfig, "-o", "json", stdin=pod)
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["pods"][0]["node"] == "live"
        assert api.get(f"/api/v1/namespaces/{namespace}/pods")["items"] == []
    finally:
        api.delete("/api/v1/nodes/live")
