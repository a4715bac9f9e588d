"""The watch on all pods: which are there, tried and bound, fed with lines that a test wrote."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bench.ledger import WrongRunError
from bench.scheduler_perf.pods import PodWatch


class Nothing:
    """A watch that never says anything."""

    async def watch(self, path: str, **query: str) -> AsyncIterator[list[bytes]]:
        yield []


def line(name: str, node: str = "", *, kind: str = "ADDED", tried: bool = False, **labels: str) -> bytes:
    pod: dict[str, Any] = {
        "metadata": {"name": name, "namespace": "n", "resourceVersion": "1", "labels": labels},
        "spec": {"nodeName": node},
        "status": {"conditions": [{"type": "PodScheduled", "status": "False"}] if tried else []},
    }
    return json.dumps({"type": kind, "object": pod}).encode()


@pytest.fixture
def watch() -> PodWatch:
    return PodWatch(Nothing())


def test_bound_and_tried_pods_are_counted_by_namespace_and_labels(watch: PodWatch) -> None:
    watch.enter([line("a", "node", type="x"), line("b", tried=True, type="x"), line("c", type="x"), line("d")], 1.0)

    assert (watch.bound_pods("n", {}), watch.tried_pods("n", {})) == (1, 2)
    assert (watch.bound_pods("n", {"type": "y"}), watch.tried_pods("other", {})) == (0, 0)
    assert watch.names("n", {"type": "x"}) == ["a", "b", "c"]


def test_a_binding_has_the_time_when_it_was_seen_first(watch: PodWatch) -> None:
    watch.enter([line("a")], 1.0)
    watch.enter([line("a", "node", kind="MODIFIED")], 2.0)
    watch.enter([line("a", "node", kind="MODIFIED", tried=True)], 3.0)
    assert watch.bound["n", "a"].bound_at == 2.0


def test_a_pod_that_is_gone_is_not_there_and_was_bound(watch: PodWatch) -> None:
    watch.enter([line("a", "node"), line("a", "node", kind="DELETED"), line("b", kind="DELETED")], 1.0)
    assert watch.present == {}
    assert list(watch.bound) == [("n", "a")]


def test_a_pod_whose_status_is_emptied_was_not_tried(watch: PodWatch) -> None:
    watch.enter([line("a", tried=True), line("a", kind="MODIFIED")], 1.0)
    assert watch.tried_pods("n", {}) == 0


def test_each_pod_is_noticed_once_as_it_is_bound(watch: PodWatch) -> None:
    noticed: list[tuple[str, str]] = []
    watch.notice = noticed.append
    watch.enter([line("a"), line("a", "node", kind="MODIFIED"), line("a", "node", kind="MODIFIED")], 1.0)
    assert noticed == [("n", "a")]


def test_a_pod_that_is_bound_twice_is_a_wrong_run(watch: PodWatch) -> None:
    with pytest.raises(WrongRunError, match="pod n/a was bound to one, then to two"):
        watch.enter([line("a", "one"), line("a", "two", kind="MODIFIED")], 1.0)


@pytest.mark.parametrize(
    "text", [b'{"type":"ERROR","object":{"status":"Failure","message":"too old"}}', b'{"type":"BOOKMARK","object":{}}']
)
def test_a_line_that_is_not_about_a_pod_is_a_wrong_run(watch: PodWatch, text: bytes) -> None:
    with pytest.raises(WrongRunError, match="the watch on pods said"):
        watch.enter([text], 1.0)
