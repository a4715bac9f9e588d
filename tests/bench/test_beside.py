"""Plain pods are counted by what the gang did while they waited, and both sides get the same gang."""

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from click.testing import CliRunner
from rich.console import Console

from bench import beside
from bench.arrivals import Waits
from bench.beside import Arrivals, Found, Load, Stretch, main, table
from bench.failures import StalledError
from bench.ledger import Ledger
from bench.native import GATED
from bench.progress import Display
from bench.sides import KUBE_SCHEDULER, MUSTER, Side
from tests.bench.test_ledger import Script, always, line, unseen

LOAD = Load(nodes=10, size=4, rate=1000, calm=0.05)
FOUND = Found(0.4, 6.25, Stretch(300, Waits(0.005, 0.01, 0.02)), Stretch(1, Waits(0.3, 0.3, 0.3)), Stretch(0, None))


def test_both_sides_get_a_gang_of_as_many_pods_which_needs_all_of_them() -> None:
    own, native = LOAD.gang(MUSTER), LOAD.gang(GATED)

    assert own.pods.keys() == native.pods.keys()
    assert json.loads(own.group[1])["spec"] == {"minMember": 4}
    assert json.loads(native.group[1])["spec"] == {"schedulingPolicy": {"gang": {"minCount": 4}}}


def test_a_plain_pod_counts_to_the_calm_only_if_it_was_bound_there_and_else_to_where_it_arrived() -> None:
    created = {"calm": 9.0, "caught": 9.9, "decided": 10.1, "late": 12.0, "bound": 12.5, "after": 14.0}
    bound = {
        **{"calm": 9.5, "caught": 11.9, "decided": 10.2, "late": 12.1, "bound": 12.4, "after": 15.0},
        **{"m1": 13.0, "m2": 12.0},
    }

    found = Found.of(created, ["m1", "m2"], 10.0, bound)

    assert (found.decided_seconds, found.started_seconds) == (2.0, 3.0)
    assert [each.pods for each in (found.calm, found.deciding, found.binding)] == [1, 2, 2]
    assert found.calm.waits == Waits(0.5, 0.5, 0.5)
    assert found.deciding.waits is not None
    assert found.deciding.waits.longest == pytest.approx(2.0)
    assert found.binding.waits is not None
    assert found.binding.waits.longest == pytest.approx(0.1)


def test_a_stretch_without_pods_has_no_waits() -> None:
    assert Found.of({"p": 1.0}, ["m"], 3.0, {"p": 2.0, "m": 3.1}).deciding == Stretch(0, None)


class _Scheduler:
    """An API server and a scheduler that binds plain pods at once, but no pod while it decides a gang.

    The decision takes until the `held`th plain pod has come; then one member is bound, and the rest with the next
    plain pod.
    """

    def __init__(self, ledger: Ledger, members: list[str], held: int) -> None:
        self._ledger = ledger
        self._members = members
        self._held = held
        self._waiting: list[str] | None = None
        self.posted: list[str] = []

    async def post(self, path: str, body: bytes) -> bytes:
        name = json.loads(body)["metadata"]["name"]
        self.posted.append(name)
        if name == self._members[-1]:
            self._waiting = []
        elif self._waiting is None:
            self._bind(name)
        elif len(self._waiting) < self._held:
            self._waiting.append(name)
        elif self._members[0] not in self._ledger.nodes:
            self._bind(self._members[0])
            self._bind(*self._waiting, name)
        else:
            self._bind(*self._members[1:], name)
        return b""

    def _bind(self, *pods: str) -> None:
        self._ledger.enter([line(pod, "node") for pod in pods], time.monotonic())


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(Script())


async def test_plain_pods_arrive_before_the_gang_and_until_all_of_it_is_bound(ledger: Ledger) -> None:
    gang = LOAD.gang(MUSTER)
    *_, last = gang.pods.values()
    scheduler = _Scheduler(ledger, [*gang.pods], held=5)
    arrivals = Arrivals(scheduler, ledger, always)

    await arrivals.begin()
    found = await arrivals.run(LOAD, last, gang.pods.keys(), unseen)

    before, after = "".join(scheduler.posted).split([*gang.pods][-1])
    assert before.startswith("firstplain-00000")
    assert found.calm.pods == before.count("plain")
    assert found.deciding.pods == 5
    assert after.count("plain") >= 7
    assert ledger.nodes.keys() == {*scheduler.posted, *gang.pods}


@pytest.mark.parametrize("act", [Arrivals.begin, lambda it: it.run(LOAD, ("/pods", b"{}"), ["never"], unseen)])
async def test_a_side_that_ends_is_not_waited_for(
    ledger: Ledger, act: Callable[[Arrivals], Awaitable[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    class Deaf:
        async def post(self, path: str, body: bytes) -> bytes:
            return b""

    def is_alive() -> bool:
        asked.append(not asked)
        return asked[-1]

    monkeypatch.setattr(beside, "_BOUND_WITHIN_SECONDS", 20.0)
    with pytest.raises(TimeoutError):
        await act(Arrivals(Deaf(), ledger, is_alive))
    assert asked == [True, False]


def test_musters_result_is_reported_though_kube_scheduler_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(side: Side, load: Load, display: Display) -> Found:
        if side is not MUSTER:
            raise StalledError("too large a group")
        return FOUND

    monkeypatch.setattr(beside, "run", run)
    done = CliRunner().invoke(main, ["-o", "json"])

    assert done.exit_code == 1
    assert "too large a group" in done.stderr
    assert list(json.loads(done.stdout)["sides"]) == ["muster"]


def test_the_table_has_a_row_for_each_stretch_of_each_side() -> None:
    console = Console(record=True, width=150)
    console.print(table("title", {KUBE_SCHEDULER.name: replace(FOUND, decided_seconds=3.0), MUSTER.name: FOUND}))

    lines = [" ".join(line.replace("│", " ").split()) for line in console.export_text().splitlines()]
    assert [row for row in lines if row.startswith(("kube-scheduler", "muster"))] == [
        "kube-scheduler before the gang 300 5 10 20",
        "kube-scheduler while it is decided, 3.00 s 1 300 300 300",
        "kube-scheduler while it is bound, 3.25 s 0",
        "muster before the gang 300 5 10 20",
        "muster while it is decided, 0.40 s 1 300 300 300",
        "muster while it is bound, 5.85 s 0",
    ]


def test_pods_that_do_not_fit_are_refused() -> None:
    done = CliRunner().invoke(main, ["--nodes=10", "--size=300", "--rate=10", "--calm=10"])
    assert done.exit_code == 2
    assert "10 nodes have no capacity for 401 pods" in done.output
