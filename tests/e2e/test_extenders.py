"""Extenders as processes of their own have their say about pods on the real API server."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import make_node, make_pod
from tests.controlplane.plane import ControlPlane
from tests.controlplane.ports import free_port
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import unique_name
from tests.e2e.eventually import eventually
from tests.e2e.extender_process import ExtenderProcess
from tests.e2e.muster_process import MUSTER, MusterProcess, Options, running

AddNodes = Callable[..., None]
StartExtender = Callable[..., ExtenderProcess]
StartWith = Callable[..., MusterProcess]
CERTIFICATES = Path(__file__).parents[1] / "kube" / "data"
ALL_VERBS = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 1, "preemptVerb": "preempt"}


@pytest.fixture
def start_extender(tmp_path: Path) -> Iterator[StartExtender]:
    """Call it to start an extender."""
    with ExitStack() as started:

        def start(**options: Any) -> ExtenderProcess:
            extender = ExtenderProcess(tmp_path, **options)
            started.callback(extender.stop)
            return extender

        yield start


@pytest.fixture
def start_with(admin_kubeconfig: Path, tmp_path: Path) -> Iterator[StartWith]:
    """Call it with extenders of a configuration to start a Muster that has them."""
    with ExitStack() as started:

        def start(*extenders: dict[str, Any]) -> MusterProcess:
            name = unique_name()
            config = tmp_path / f"{name}.yaml"
            config.write_text(json.dumps(configuration(name, *extenders)))
            options = Options(kubeconfig=admin_kubeconfig, log=tmp_path / f"{name}.log", config=config)
            process = started.enter_context(running(options))
            process.name = name
            return process

        yield start


def configuration(name: str, *extenders: dict[str, Any]) -> dict[str, Any]:
    """One profile of kube-scheduler's plugins, with these extenders."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": name}],
        "extenders": list(extenders),
    }


def wait_for_message(cluster: Cluster, pod: str, reason: str) -> str:
    """What the pod's condition says, once it gives this reason."""
    found = eventually(lambda: [each for each in [cluster.scheduled_condition(pod)] if each.get("reason") == reason])
    message: str = found[0]["message"]
    return message


@pytest.mark.parametrize("cached", [False, True], ids=["whole nodes", "nodeCacheCapable"])
def test_an_extender_filters_and_scores(
    cached: bool, start_extender: StartExtender, start_with: StartWith, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one").labels(tier="gold"), make_node("two"), make_node("three"))
    extender = start_extender()
    extender.rules(nodes=["one", "three"], scores={"one": 1, "two": 10, "three": 10})
    muster = start_with(
        {"urlPrefix": extender.url, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 20}
        | {"nodeCacheCapable": cached}
    )

    cluster.create(make_pod("picky").labels(app="web"), scheduler=muster.name)
    assert cluster.wait_until_bound("picky") == ["three"]

    [asked] = extender.asked("filter")
    assert asked["Pod"]["metadata"]["labels"] == {"app": "web"}
    assert asked["Pod"]["spec"]["containers"][0]["terminationMessagePath"] == "/dev/termination-log"
    assert "managedFields" not in asked["Pod"]["metadata"]
    [scored] = extender.asked("prioritize")
    if cached:
        assert (asked["Nodes"], sorted(asked["NodeNames"])) == (None, ["one", "three", "two"])
        assert sorted(scored["NodeNames"]) == ["one", "three"]
    else:
        nodes = {node["metadata"]["name"]: node for node in asked["Nodes"]["items"]}
        assert (asked["NodeNames"], sorted(nodes)) == (None, ["one", "three", "two"])
        assert nodes["one"]["metadata"]["labels"]["tier"] == "gold"
        assert nodes["one"]["status"]["conditions"][0]["type"] == "Ready"

    extender.rules(nodes=[])
    cluster.create(make_pod("refused"), scheduler=muster.name)
    assert cluster.wait_until_turned_away("refused") == (
        "0/3 nodes are available: 1 the extender does not like one, 1 the extender does not like three, "
        "1 the extender does not like two."
    )
    extender.rules()
    add_nodes(make_node("four"))
    cluster.wait_until_bound("refused")


def test_an_extender_that_is_down_fails_the_pod_unless_it_is_ignorable(
    start_with: StartWith, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one"))
    down = f"127.0.0.1:{free_port()}"
    entry = {"urlPrefix": f"http://{down}/scheduler", "filterVerb": "filter"}
    strict, lenient = start_with(entry), start_with(entry | {"ignorable": True})

    cluster.create(make_pod("strict"), scheduler=strict.name)
    assert wait_for_message(cluster, "strict", "SchedulerError") == (
        f'Post "http://{down}/scheduler/filter": dial tcp {down}: connect: connection refused'
    )
    cluster.create(make_pod("lenient"), scheduler=lenient.name)
    assert cluster.wait_until_bound("lenient") == ["one"]


def test_a_slow_extender_holds_up_only_pods_that_ask_for_its_resources(
    start_extender: StartExtender, start_with: StartWith, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one"))
    extender = start_extender()
    extender.rules(seconds=3600)
    muster = start_with(
        {"urlPrefix": extender.url, "filterVerb": "filter", "httpTimeout": "5s"}
        | {"managedResources": [{"name": "example.com/licence", "ignoredByScheduler": True}]}
    )

    cluster.create(make_pod("licensed").limits({"example.com/licence": "1"}), scheduler=muster.name)
    eventually(lambda: extender.asked("filter", "licensed"))
    cluster.create(*(make_pod(f"other-{number}") for number in range(5)), scheduler=muster.name)
    cluster.wait_until_bound(*(f"other-{number}" for number in range(5)))
    assert cluster.scheduled_condition("licensed") == {}
    assert wait_for_message(cluster, "licensed", "SchedulerError") == (
        f'Post "{extender.url}/filter": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    )

    extender.rules()
    cluster.wait_until_bound("licensed")
    assert {body["Pod"]["metadata"]["name"] for body in extender.asked("filter")} == {"licensed"}


def test_an_extender_binds(
    start_extender: StartExtender,
    start_with: StartWith,
    cluster: Cluster,
    add_nodes: AddNodes,
    control_plane: ControlPlane,
    admin_kubeconfig: Path,
) -> None:
    add_nodes(make_node("one"))
    extender = start_extender()
    token = yaml.safe_load(admin_kubeconfig.read_text())["users"][0]["user"]["token"]
    extender.rules(bind=[control_plane.url, token])
    muster = start_with({"urlPrefix": extender.url, "bindVerb": "bind"})

    cluster.create(make_pod("bound"), scheduler=muster.name)
    cluster.wait_until_bound("bound")
    uid = cluster.pod("bound")["metadata"]["uid"]
    assert extender.asked("bind") == [
        {"PodName": "bound", "PodNamespace": cluster.namespace, "PodUID": uid, "Node": "one"}
    ]
    assert eventually(lambda: cluster.events("bound", "Scheduled"))

    extender.rules(status=500)
    cluster.create(make_pod("failing"), scheduler=muster.name)
    assert wait_for_message(cluster, "failing", "SchedulerError") == (
        f"failed bind with extender at URL {extender.url}/bind, code 500"
    )


@pytest.mark.parametrize("cached", [False, True], ids=["whole pods", "nodeCacheCapable"])
def test_an_extender_says_where_a_pod_may_evict_others(
    cached: bool,
    start_extender: StartExtender,
    start_with: StartWith,
    cluster: Cluster,
    add_nodes: AddNodes,
    urgent: str,
) -> None:
    add_nodes(make_node("one"), make_node("two"))
    extender = start_extender()
    muster = start_with({"urlPrefix": extender.url, "preemptVerb": "preempt", "nodeCacheCapable": cached})
    for number, node in enumerate(("one", "two")):
        runs = make_pod(f"runs-{node}").requests(cpu="3").node_selector({"kubernetes.io/hostname": node})
        cluster.create(runs.labels(number=str(number)), scheduler=muster.name)
    cluster.wait_until_bound("runs-one", "runs-two")

    extender.rules(evict=[])
    cluster.create(make_pod("nobody").requests(cpu="3").priority_class(urgent), scheduler=muster.name)
    assert cluster.wait_until_unschedulable("nobody") == (
        "0/2 nodes are available: 2 Insufficient cpu. preemption: no candidate node for preemption"
    )
    cluster.delete("nobody")

    extender.rules(evict=["two"])
    cluster.create(make_pod("evicts").requests(cpu="3").priority_class(urgent), scheduler=muster.name)
    eventually(lambda: "deletionTimestamp" in cluster.pod("runs-two")["metadata"])
    assert "deletionTimestamp" not in cluster.pod("runs-one")["metadata"]
    asked = extender.asked("preempt", "evicts")[0]
    victims = asked["NodeNameToMetaVictims" if cached else "NodeNameToVictims"]
    assert sorted(victims) == ["one", "two"]
    if not cached:
        assert victims["one"]["Pods"][0]["metadata"]["labels"] == {"number": "0"}
    cluster.delete("runs-two")
    assert cluster.wait_until_bound("evicts") == ["two"]


def test_an_extender_behind_tls_wants_to_see_a_certificate(
    start_extender: StartExtender, start_with: StartWith, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one"))
    certificate, key = CERTIFICATES / "certificate.pem", CERTIFICATES / "key.pem"
    extender = start_extender(tls=[certificate, key, certificate])
    entry = {"urlPrefix": extender.url, "filterVerb": "filter", "enableHTTPS": True}
    known = {"caFile": str(certificate), "certFile": str(certificate), "keyFile": str(key)}
    shown, stranger = start_with(entry | {"tlsConfig": known}), start_with(entry)

    cluster.create(make_pod("known"), scheduler=shown.name)
    assert cluster.wait_until_bound("known") == ["one"]
    cluster.create(make_pod("unknown"), scheduler=stranger.name)
    assert wait_for_message(cluster, "unknown", "SchedulerError").startswith(f'Post "{extender.url}/filter": ')


def test_tls_files_that_are_not_there_are_named_at_the_start(tmp_path: Path, admin_kubeconfig: Path) -> None:
    config = tmp_path / "config.yaml"
    entry = {"urlPrefix": "https://127.0.0.1", "tlsConfig": {"caFile": "/nowhere/ca.crt"}}
    config.write_text(json.dumps(configuration("muster", entry)))
    command = [MUSTER, "run", "--kubeconfig", admin_kubeconfig, "--config", config, "--secure-port=0"]
    ended = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (
        2,
        "Error: extenders[0].tlsConfig.caFile: open /nowhere/ca.crt: no such file or directory",
    )


def test_kube_scheduler_says_the_same(
    start_extender: StartExtender,
    start_with: StartWith,
    cluster: Cluster,
    add_nodes: AddNodes,
    control_plane: ControlPlane,
    urgent: str,
) -> None:
    add_nodes(make_node("one"), make_node("two"))
    extender = start_extender()
    entry = {"urlPrefix": extender.url, **ALL_VERBS}
    muster = start_with(entry)
    reference = unique_name()
    with control_plane.start_scheduler(configuration(reference, entry)):
        server = control_plane.servers[-1]
        for name, rules, reason in (
            ("refused", {"nodes": []}, "Unschedulable"),
            ("unresolvable", {"nodes": [], "unresolvable": True}, "Unschedulable"),
            ("broken", {"status": 503}, "SchedulerError"),
        ):
            extender.rules(**rules)
            reported = []
            for scheduler in (muster.name, reference):
                pod = f"{name}-{scheduler}"
                cluster.create(make_pod(pod).priority_class(urgent), scheduler=scheduler)
                reported.append(wait_for_message(cluster, pod, reason))
                cluster.delete(pod)
            assert reported[0] == reported[1]
    server.stop()
