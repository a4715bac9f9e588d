"""Turns: whatever comes and goes, a turn that was told is right until its namespace is named as moved."""

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.snapshot import Snapshot
from muster.plugins.capacityscheduling.ledger import QuotaLedger
from muster.plugins.capacityscheduling.tree import QuotaTree
from muster.plugins.capacityscheduling.turns import Turns
from tests.builders import make_pod
from tests.cache.objects import node, pod
from tests.capacityscheduling.objects import quota

QUOTAS = (
    quota("ml", min={"cpu": "4"}),
    quota("dev", min={"cpu": "2", "gpu": "1"}),
    quota("dept", min={"cpu": "3"}),
    quota("team", min={"cpu": "1"}, parent="dept/quota"),
)
NAMESPACES = ("ml", "dev", "dept", "team", "none")


def of(namespace: str, name: str, cpu: int) -> PodInfo:
    return pod(make_pod(name, namespace=namespace).requests(cpu=str(cpu)))


steps = st.lists(
    st.tuples(st.sampled_from(("place", "end", "ask", "ask", "plant")), st.integers(0, 4), st.integers(0, 3)),
    max_size=40,
)


@given(steps)
@settings(max_examples=300, deadline=None)
def test_a_turn_is_right_until_its_namespace_is_named(history: Iterable[tuple[str, int, int]]) -> None:
    snapshot = Snapshot()
    snapshot.set_node(node("a"))
    ledger, turns = QuotaLedger(snapshot.usage()), Turns()
    ledger.plant(QuotaTree.of(QUOTAS))
    assert turns.moved(ledger) is None
    told: dict[tuple[str, int], tuple[float, ...]] = {}
    for what, at, size in history:
        namespace, there = NAMESPACES[at], snapshot.pods[0]
        running = of(namespace, f"{namespace}-{size}", size)
        match what:
            case "place" if running.uid not in there:
                snapshot.add_pod(running, "a")
            case "end" if running.uid in there:
                snapshot.remove_pod(running, "a")
            case "plant":
                ledger.plant(QuotaTree.of(QUOTAS[: 1 + size]))
        moved = turns.moved(ledger)
        told = {key: turn for key, turn in told.items() if moved is not None and key[0] not in moved}
        if what == "ask":
            told[namespace, size] = turns.turn_of(namespace, of(namespace, "next", size), ledger)
        fresh = Turns()
        assert told == {key: fresh.turn_of(key[0], of(key[0], "next", key[1]), ledger) for key in told}


def test_a_quota_whose_min_covers_the_next_pod_is_not_named() -> None:
    snapshot = Snapshot()
    snapshot.set_node(node("a"))
    ledger, turns = QuotaLedger(snapshot.usage()), Turns()
    ledger.plant(QuotaTree.of(QUOTAS))
    turns.moved(ledger)
    assert turns.turn_of("ml", of("ml", "next", 1), ledger) == ()
    named = []
    for number in range(4):
        snapshot.add_pod(of("ml", f"p{number}", 1), "a")
        named.append(turns.moved(ledger))
    assert named == [(), (), (), ("ml",)]
