"""A measurement counts the pods that it is about, from its beginning to its end."""

import os

import pytest

from bench.ledger import WrongRunError
from bench.scheduler_perf.attempts import METRIC
from bench.scheduler_perf.collecting import Collector, Waits
from bench.scheduler_perf.page import SidePages
from bench.scheduler_perf.pods import Key, PodWatch, Seen
from bench.trial import API_SERVER, ETCD
from tests.bench.scheduler_perf.test_pods import Nothing

PIDS = dict.fromkeys(("muster", API_SERVER, ETCD), os.getpid())


class Pages(SidePages):
    """The metrics of a side that tries ten pods more each time that it is asked."""

    def __init__(self) -> None:
        super().__init__("http://nowhere", "", None)
        self.tried = 0

    async def read(self, path: str) -> str:
        self.tried += 10
        return f'{METRIC}_bucket{{result="scheduled",le="1"}} {self.tried}\n' + (
            f'{METRIC}_bucket{{result="scheduled",le="+Inf"}} {self.tried}\n'
        )


def bound(watch: PodWatch, name: str, at: float, namespace: str = "n", **labels: str) -> None:
    watch.bound[namespace, name] = Seen(labels, "node", bound_at=at)


@pytest.fixture
def watch() -> PodWatch:
    return PodWatch(Nothing())


@pytest.fixture
def collector(watch: PodWatch) -> Collector:
    return Collector(watch, Pages(), "muster", PIDS)


async def test_the_pods_of_a_measurement_have_its_namespaces_and_labels_and_its_time(
    watch: PodWatch, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.scheduler_perf.collecting.time.monotonic", lambda: 100.0)
    bound(watch, "before", 99.0, type="x")
    await collector.start(["n", "m"], {"type": "x"})
    for name, at in (("a", 101.0), ("b", 102.0), ("c", 111.0)):
        bound(watch, name, at, type="x")
    bound(watch, "unlike", 105.0, type="y")
    bound(watch, "elsewhere", 105.0, namespace="o", type="x")
    monkeypatch.setattr("bench.scheduler_perf.collecting.time.monotonic", lambda: 112.0)

    await collector.stop({("n", "a"): 100.0, ("n", "b"): 101.5})

    found = collector.found
    assert found is not None
    assert (found.pods, found.pods_per_second) == (3, 3 / 11)
    assert (found.waits.p50, found.waits.p99) == pytest.approx((0.5, 0.99))
    assert found.attempts["scheduled"].count == 10
    assert found.peak_bytes > 10 << 20


async def test_a_measurement_without_pods_or_without_a_beginning_is_wrong(collector: Collector) -> None:
    with pytest.raises(WrongRunError, match="ends that did not begin"):
        await collector.stop({})
    await collector.start(["n"], {})
    with pytest.raises(WrongRunError, match="no pod was bound"):
        await collector.stop({})


def test_a_wait_is_never_negative_and_a_pod_whose_answer_is_late_did_not_wait() -> None:
    keys: list[Key] = [("n", str(number)) for number in range(101)]
    created = {key: float(number) for number, key in enumerate(keys)}
    seen = {key: at + at / 10 for key, at in created.items()} | {keys[0]: -1.0}
    found = Waits.of(created, seen)
    assert (found.p50, found.p90, found.p99) == pytest.approx((5.0, 9.0, 9.9))
    assert Waits.of({}, {keys[0]: 7.0}) == Waits(0.0, 0.0, 0.0)
