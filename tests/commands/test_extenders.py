"""`why`, `explain` and `simulate` ask the extenders of the configuration, over HTTP as the scheduler does."""

import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.plugins.coscheduling.definition import definition
from muster.sandbox import NodeShape, Sandbox
from tests.builders import make_node, make_pod
from tests.controlplane.ports import free_port
from tests.e2e.extender_process import ExtenderProcess
from tests.sandboxes import served
from tests.simulate.rehearsing import member, pod_group

from .asking import ask

VERBS = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "preemptVerb": "preempt", "bindVerb": "bind"}
GANG = [pod_group("gang", 3), *(member(f"m-{number}", "gang").requests(cpu="1") for number in range(3))]
REFUSED = "the extender does not like"


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    sandbox = Sandbox([definition()], stand_ins=False)
    sandbox.nodes(3, shape=NodeShape(cpu="2"))
    pods = [make_pod("web").requests(cpu="1"), make_pod("placed").requests(cpu="1").node("node-2")]
    with served(sandbox, [*GANG, *pods], tmp_path_factory.mktemp("extenders")) as kubeconfig:
        yield kubeconfig


@pytest.fixture
def extender(tmp_path: Path) -> Iterator[ExtenderProcess]:
    process = ExtenderProcess(tmp_path)
    yield process
    process.stop()


def configured(folder: Path, url: str, **options: object) -> str:
    """A file with Muster's usual profile and one extender."""
    profile = {
        "schedulerName": "muster",
        "plugins": {
            "multiPoint": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "PrioritySort"}]},
        },
    }
    path = folder / "config.json"
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    extender = {"urlPrefix": url, "weight": 5, **VERBS, **options}
    path.write_text(json.dumps({**head, "profiles": [profile], "extenders": [extender]}))
    return str(path)


def asked(kubeconfig: Path, config: str, *words: str) -> Any:
    shown = ask(*words, "-o", "json", "--kubeconfig", str(kubeconfig), "--config", config)
    assert not shown.stderr
    return json.loads(shown.stdout)


@pytest.mark.parametrize("command", ["why", "explain"])
@pytest.mark.parametrize("cached", [False, True], ids=["whole nodes", "nodeCacheCapable"])
def test_a_pod_is_explained_as_extenders_have_it(
    command: str, cached: bool, kubeconfig: Path, extender: ExtenderProcess, tmp_path: Path
) -> None:
    extender.rules(nodes=["node-1", "node-3"], scores={"node-3": 10})
    config = configured(tmp_path, extender.url, nodeCacheCapable=cached)
    shown = asked(kubeconfig, config, command, "web")
    assert shown["feasible"] == ["node-1", "node-3"]
    assert shown["rejected"]["node-2"] == {
        "code": "Unschedulable",
        "plugin": "Extender",
        "reasons": [f"{REFUSED} node-2"],
    }
    assert shown["scores"]["node-3"][extender.url] == 10 * 5 * 10
    [question] = extender.asked("filter")
    assert question["Pod"]["metadata"]["name"] == "web"
    assert extender.asked("bind") == []
    table = ask(command, "web", "--kubeconfig", str(kubeconfig), "--config", config).output
    assert f"{REFUSED} node-2" in table


def test_without_extenders_no_extender_is_called(kubeconfig: Path, extender: ExtenderProcess, tmp_path: Path) -> None:
    extender.rules(nodes=[])
    config = configured(tmp_path, extender.url)
    assert len(asked(kubeconfig, config, "why", "web", "--no-extenders")["feasible"]) == 3
    assert asked(kubeconfig, config, "why", "pg/gang", "--no-extenders")["now"]["reason"] == ""
    assert extender.asked("filter") == []


def test_a_pod_that_has_a_node_is_shown_to_extenders_without_it(
    kubeconfig: Path, extender: ExtenderProcess, tmp_path: Path
) -> None:
    asked(kubeconfig, configured(tmp_path, extender.url), "why", "pod/placed")
    [question] = extender.asked("filter")
    assert "nodeName" not in question["Pod"]["spec"]


@pytest.mark.parametrize("ignorable", [False, True])
def test_an_extender_that_cannot_be_reached_is_reported_as_the_scheduler_does(
    ignorable: bool, kubeconfig: Path, tmp_path: Path
) -> None:
    port = free_port()
    config = configured(tmp_path, f"http://127.0.0.1:{port}", ignorable=ignorable)
    shown = asked(kubeconfig, config, "why", "web")
    message = f'Post "http://127.0.0.1:{port}/filter": dial tcp 127.0.0.1:{port}: connect: connection refused'
    assert shown.get("message") == (None if ignorable else message)
    assert len(shown["feasible"]) == (3 if ignorable else 0)


def test_groups_and_simulations_report_an_extender_that_cannot_be_reached(kubeconfig: Path, tmp_path: Path) -> None:
    port = free_port()
    config = configured(tmp_path, f"http://127.0.0.1:{port}")
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(make_pod("new")))
    message = f'Post "http://127.0.0.1:{port}/filter": dial tcp 127.0.0.1:{port}: connect: connection refused'
    assert message in asked(kubeconfig, config, "why", "pg/gang")["now"]["reason"]
    shown = asked(kubeconfig, config, "simulate", "-f", str(manifest))
    assert ([each["reason"] for each in shown["pods"]], shown["missing"]) == ([message], None)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", 'Post "/filter": unsupported protocol scheme ""'),
        ("host:80", 'Post "host:80/filter": unsupported protocol scheme "host"'),
        ("ftp://host", 'Post "ftp://host/filter": unsupported protocol scheme "ftp"'),
        ("http://[", 'Post "http://[/filter": invalid URL'),
        ("http://host:99999", 'Post "http://host:99999/filter": invalid URL'),
    ],
)
def test_a_url_that_cannot_be_called_fails_the_pod_as_in_the_scheduler(
    url: str, message: str, kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    shown = ask("why", "web", "-o", "json", "--kubeconfig", str(kubeconfig), "--config", configured(tmp_path, url))
    assert json.loads(shown.stdout)["message"] == message


def test_errors_do_not_show_the_password_of_a_url(kubeconfig: Path, extender: ExtenderProcess, tmp_path: Path) -> None:
    def message(url: str, **options: object) -> str:
        config = configured(tmp_path, url.replace("//", "//user:secret@"), **options)
        shown: str = asked(kubeconfig, config, "why", "web")["message"]
        return shown.replace("//user:***@", "//")

    closed = f"127.0.0.1:{free_port()}"
    assert (
        message(f"http://{closed}") == f'Post "http://{closed}/filter": dial tcp {closed}: connect: connection refused'
    )
    extender.rules(seconds=30)
    late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    assert message(extender.url, httpTimeout="100ms") == f'Post "{extender.url}/filter": {late}'
    extender.rules(status=500)
    assert message(extender.url) == f"failed filter with extender at URL {extender.url}/filter, code 500"
    extender.rules(also=["elsewhere"])
    unknown = 'claims a filtered node "elsewhere" which is not found in the input node list'
    assert message(extender.url, nodeCacheCapable=True) == f'extender "{extender.url}" {unknown}'


def test_no_answer_of_an_extender_is_left_behind_unread(
    kubeconfig: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = configured(tmp_path, f"http://127.0.0.1:{free_port()}")
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(make_pod("new")))
    asked(kubeconfig, config, "why", "pg/gang")
    asked(kubeconfig, config, "simulate", "-f", str(manifest))
    gc.collect()
    assert "never retrieved" not in caplog.text


def test_an_extender_that_takes_too_long_has_its_timeout(
    kubeconfig: Path, extender: ExtenderProcess, tmp_path: Path
) -> None:
    extender.rules(seconds=30)
    shown = asked(kubeconfig, configured(tmp_path, extender.url, httpTimeout="100ms"), "why", "web")
    assert shown["message"].endswith("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")


def test_a_group_is_tried_as_extenders_have_it(kubeconfig: Path, extender: ExtenderProcess, tmp_path: Path) -> None:
    extender.rules(nodes=["node-1"])
    shown = asked(kubeconfig, configured(tmp_path, extender.url), "why", "pg/gang")
    assert "2 of the 3 members that it needs fit" in shown["now"]["reason"]
    assert {each["plugin"] for each in shown["now"]["nodes"]} == {"NodeResourcesFit", "Extender"}
    assert len(extender.asked("filter")) == 3
    assert extender.asked("bind") == []


@pytest.mark.parametrize("dumped", [False, True], ids=["live", "--from"])
def test_a_simulation_asks_about_pods_and_nodes_as_they_are_written(
    dumped: bool, kubeconfig: Path, extender: ExtenderProcess, tmp_path: Path
) -> None:
    extender.rules(nodes=["node-3"])
    pod = make_pod("new").requests(cpu="1")
    pod["metadata"]["annotations"] = {"example.com/licence": "big", "example.com/none": None}
    manifest, dump = tmp_path / "pod.json", tmp_path / "dump.json"
    manifest.write_text(json.dumps(pod))
    nodes = [make_node(f"node-{number}", cpu="2") for number in range(1, 4)]
    for node in nodes:
        node["metadata"]["annotations"] = {"example.com/from": "dump"}
    dump.write_text(json.dumps({"kind": "List", "items": nodes}))
    source = ("--from", str(dump)) if dumped else ()
    config = configured(tmp_path, extender.url)
    shown = asked(kubeconfig, config, "simulate", "-f", str(manifest), *source)
    assert [each["node"] for each in shown["pods"]] == ["node-3"]
    [question] = extender.asked("filter")
    assert question["Pod"]["metadata"]["annotations"] == {"example.com/licence": "big", "example.com/none": ""}
    items = question["Nodes"]["items"]
    assert [each["metadata"]["name"] for each in items] == ["node-1", "node-2", "node-3"]
    assert [each["metadata"].get("annotations") for each in items] == (
        [{"example.com/from": "dump"}] * 3 if dumped else [None] * 3
    )
    assert extender.asked("bind") == []


@pytest.mark.parametrize("words", [("why", "web"), ("why", "pg/gang"), ("simulate", "-f", "pod.json")])
def test_an_extender_whose_files_are_missing_is_bad_input(
    words: tuple[str, ...], kubeconfig: Path, tmp_path: Path
) -> None:
    (tmp_path / "pod.json").write_text(json.dumps(make_pod("new")))
    config = configured(tmp_path, "https://127.0.0.1", tlsConfig={"caFile": "/nowhere"})
    words = tuple(str(tmp_path / each) if each == "pod.json" else each for each in words)
    shown = ask(*words, "--kubeconfig", str(kubeconfig), "--config", config)
    assert (shown.exit_code, "extenders[0].tlsConfig.caFile: open /nowhere" in shown.output) == (2, True)
