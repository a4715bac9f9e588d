"""Muster drains a backlog on the stand-in, which serves pages and forgets no change, and a failed side is told."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest

from bench import scale, stand_in
from bench.failures import StalledError
from bench.progress import Display
from bench.quotas import QUOTAS, SharedCluster
from bench.stand_in import NODES, PODS, Cluster, Drained
from tests.controlplane.guard import Guard


@pytest.mark.slow
def test_all_pods_are_bound_and_reported_on_the_stand_in(display: Display) -> None:
    found = stand_in.run(Cluster(20, 60, 40), display)

    assert found.pods == 40
    assert min(found.pods_per_second, found.start_seconds) > 0
    assert found.peak_bytes > 10 << 20


class _Api:
    """A client of a stand-in."""

    def __init__(self, address: str) -> None:
        self._connection = HTTPConnection(address, timeout=30)

    def close(self) -> None:
        self._connection.close()

    def get(self, path: str, **query: str) -> Any:
        self._connection.request("GET", f"{path}?{urlencode(query)}")
        return json.load(self._connection.getresponse())

    def bind(self, pod: str, node: str) -> int:
        body = {"metadata": {"namespace": scale.NAMESPACE, "name": pod}, "target": {"name": node}}
        path = f"/api/v1/namespaces/{scale.NAMESPACE}/pods/{pod}/binding"
        self._connection.request("POST", path, json.dumps(body))
        response = self._connection.getresponse()
        response.read()
        return response.status

    def patch(self, path: str, body: Mapping[str, object]) -> int:
        self._connection.request("PATCH", path, json.dumps(body))
        response = self._connection.getresponse()
        response.read()
        return response.status

    def watch(self, path: str, lines: int, **query: str) -> list[Any]:
        """So many lines of a watch; nothing else can be asked for afterwards."""
        self._connection.request("GET", f"{path}?{urlencode({'watch': 'true', **query})}")
        response = self._connection.getresponse()
        return [json.loads(response.readline()) for _ in range(lines)]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a stand-in with 7 nodes, 5 running pods and a backlog of 3."""
    with (
        closing(Guard()) as guard,
        stand_in.serving(tmp_path_factory.mktemp("stand-in"), Cluster(7, 5, 3), guard) as (_, address),
    ):
        yield address


@pytest.fixture
def api(address: str) -> Iterator[_Api]:
    with closing(_Api(address)) as api:
        yield api


@pytest.mark.slow
@pytest.mark.parametrize(("path", "count"), [(NODES, 7), (PODS, 8), ("/api/v1/services", 0)])
def test_a_list_comes_in_pages_of_which_each_object_is_in_one(api: _Api, path: str, count: int) -> None:
    whole = api.get(path)
    pages = [api.get(path, limit="3")]
    while token := pages[-1]["metadata"]["continue"]:
        pages.append(api.get(path, limit="3", **{"continue": token}))

    assert [item for page in pages for item in page["items"]] == whole["items"]
    assert len(whole["items"]) == count
    assert all(len(page["items"]) <= 3 for page in pages)
    assert {page["metadata"]["resourceVersion"] for page in pages} == {whole["metadata"]["resourceVersion"]}


@pytest.mark.slow
def test_pods_that_have_ended_are_none(api: _Api) -> None:
    assert api.get(PODS, fieldSelector="status.phase!=Pending,status.phase!=Running")["items"] == []


@pytest.mark.slow
def test_a_watch_repeats_what_was_bound_since_the_first_page_and_a_pod_is_bound_once(api: _Api) -> None:
    page = api.get(PODS, limit="1")
    assert api.bind("pod-00001", "node-00006") == 201
    assert api.bind("pod-00001", "node-00005") == 409
    last = api.get(PODS, limit="99", **{"continue": page["metadata"]["continue"]})

    assert last["metadata"] == {"resourceVersion": page["metadata"]["resourceVersion"], "continue": ""}
    [line] = api.watch(PODS, 1, resourceVersion=last["metadata"]["resourceVersion"])
    assert line["type"] == "MODIFIED"
    [pod] = [each for each in last["items"] if each["metadata"]["name"] == "pod-00001"]
    assert line["object"] == pod
    assert pod["spec"]["nodeName"] == "node-00006"
    assert int(pod["metadata"]["resourceVersion"]) > int(page["metadata"]["resourceVersion"])


def test_each_object_of_the_file_is_a_line_under_the_path_of_its_list(tmp_path: Path) -> None:
    stand_in.write(Cluster(2, 4, 3).objects(), tmp_path / "objects")

    lines = (tmp_path / "objects").read_text().splitlines()
    assert [number for number, line in enumerate(lines) if line.startswith("/")] == [0, 3]
    assert (lines[0], lines[3]) == (NODES, PODS)
    items = [json.loads(line) for line in lines if not line.startswith("/")]
    assert [item["kind"] for item in items] == ["Node"] * 2 + ["Pod"] * 7
    assert ["nodeName" in item["spec"] for item in items[2:]] == [False] * 3 + [True] * 4
    assert all(item["metadata"]["resourceVersion"] == "1" for item in items)
    assert len({item["metadata"]["uid"] for item in items}) == len(items)


def test_a_side_that_ends_is_reported_with_the_end_of_musters_log(
    display: Display, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def ended(folder: Path, cluster: Cluster) -> Iterator[tuple[SimpleNamespace, SimpleNamespace]]:
        (folder / stand_in.API).write_text("")
        (folder / stand_in.MUSTER).write_text("the operator cannot go on")
        yield SimpleNamespace(is_running=True), SimpleNamespace(is_running=False, pid=1)

    monkeypatch.setattr(stand_in, "servers", ended)
    with pytest.raises(StalledError, match="the operator cannot go on"):
        stand_in.run(Cluster(1, 0, 2), display)


def test_the_median_is_taken_of_each_figure() -> None:
    runs = [Drained(10, rate, cpu, 1.0, 7) for rate, cpu in ((700.0, 0.003), (900.0, 0.001), (800.0, 0.002))]

    found = stand_in.document(runs)

    medians = {"pods": 10, "pods_per_second": 800.0, "cpu_per_pod": 0.002, "start_seconds": 1.0, "peak_bytes": 7}
    assert found["median"] == medians
    assert len(found["runs"]) == 3


@pytest.mark.slow
def test_a_status_that_is_written_is_merged_and_streamed(tmp_path: Path) -> None:
    cluster = SharedCluster(1, 0, 4, 2, True)
    with (
        closing(Guard()) as guard,
        stand_in.serving(tmp_path, cluster, guard) as (_, address),
        closing(_Api(address)) as api,
    ):
        first = api.get(QUOTAS)
        path = f"{QUOTAS.rpartition('/')[0]}/namespaces/team-001/elasticquotas/quota/status"
        assert api.patch(path, {"status": {"used": {"cpu": "1", "memory": "1Gi"}}}) == 200
        assert api.patch(path, {"status": {"used": {"cpu": "2", "memory": None}}}) == 200
        assert api.patch(path.replace("team-001", "team-009"), {"status": {}}) == 404
        now = {quota["metadata"]["namespace"]: quota.get("status") for quota in api.get(QUOTAS)["items"]}
        lines = api.watch(QUOTAS, 2, resourceVersion=first["metadata"]["resourceVersion"])

    assert now == {"team-000": None, "team-001": {"used": {"cpu": "2"}}}
    assert [line["object"]["status"]["used"]["cpu"] for line in lines] == ["1", "2"]
