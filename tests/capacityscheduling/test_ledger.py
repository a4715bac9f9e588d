"""The ledger: what is used of each quota agrees with a recount, whatever comes, goes and is tried."""

from collections import Counter
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.snapshot import Snapshot
from muster.plugins.capacityscheduling.ledger import QuotaLedger
from muster.plugins.capacityscheduling.tree import Quota, QuotaTree
from tests.builders import make_pod
from tests.cache.objects import node, pod
from tests.capacityscheduling.objects import quota


def of(namespace: str, name: str, **requests: str) -> PodInfo:
    return pod(make_pod(name, namespace=namespace).requests(requests))


def counted(snapshot: Snapshot) -> QuotaLedger:
    return QuotaLedger(snapshot.usage())


def test_a_quota_counts_its_namespace_and_its_childrens() -> None:
    snapshot = Snapshot()
    snapshot.set_node(node("a"))
    ledger = counted(snapshot)
    ledger.plant(QuotaTree.of([quota("dept", min={"cpu": "1"}), quota("ml", parent="dept/quota"), quota("ops")]))
    for each in (of("dept", "one", cpu="1"), of("ml", "two", cpu="2", gpu="1"), of("else", "three", cpu="4")):
        snapshot.add_pod(each, "a")
    dept, ml = (ledger.tree.by_namespace[name] for name in ("dept", "ml"))
    assert ledger.used(ml) == {"pods": 1, "cpu": 2000, "gpu": 1}
    assert ledger.used(dept) == {"pods": 2, "cpu": 3000, "gpu": 1}
    assert ledger.used(ledger.tree.root) == {"pods": 2, "cpu": 3000, "gpu": 1}
    assert ledger.own(dept) == {"pods": 1, "cpu": 1000}
    assert ledger.borrowed(dept) == {"cpu": 2000}
    assert ledger.borrowed(ml) == {"cpu": 2000}
    assert {each.key for each in ledger.over()} == {"dept/quota", "ml/quota"}


def test_the_share_is_that_of_the_dominant_resource_by_weight() -> None:
    snapshot = Snapshot()
    snapshot.set_node(node("a"))
    ledger = counted(snapshot)
    ledger.plant(QuotaTree.of([quota("ml", min={"cpu": "8", "gpu": "4"}, weight="2"), quota("dev", min={"cpu": "2"})]))
    assert ledger.share(ledger.tree.by_namespace["ml"]) == 0.0
    snapshot.add_pod(of("ml", "one", cpu="1", gpu="2", memory="1Gi"), "a")
    assert ledger.share(ledger.tree.by_namespace["ml"]) == 2 / 4 / 2


def test_a_quota_whose_use_changed_is_named_once() -> None:
    snapshot = Snapshot()
    snapshot.set_node(node("a"))
    ledger = counted(snapshot)
    ledger.plant(QuotaTree.of([quota("ml"), quota("dev")]))
    assert {each.namespace for each in ledger.take_moved()} == {"ml", "dev"}
    snapshot.add_pod(of("ml", "one"), "a")
    snapshot.add_pod(of("else", "one"), "a")
    assert [each.namespace for each in ledger.take_moved()] == ["ml"]
    assert list(ledger.take_moved()) == []


NAMESPACES = ("dept", "ml", "dev", "ops", "none")
QUOTAS = (
    quota("dept", min={"cpu": "3"}),
    quota("ml", min={"cpu": "2"}, parent="dept/quota"),
    quota("dev", min={"gpu": "1"}, parent="ml/quota"),
    quota("ops", min={"cpu": "1", "gpu": "1"}),
)


def summed(pods: Iterable[PodInfo], of_quota: Quota) -> dict[str, int]:
    found = Counter[str]()
    within = {each.namespace for each in of_quota.subtree()}
    for each in pods:
        if each.namespace in within:
            found.update({"pods": 1, **each.signature.requests})
    return {name: amount for name, amount in found.items() if amount}


def recounted(snapshot: Snapshot, of_quota: Quota) -> dict[str, int]:
    return summed((each for pods in snapshot.pods for each in pods.values()), of_quota)


def agrees(snapshot: Snapshot, ledger: QuotaLedger, outside: Iterable[PodInfo]) -> None:
    """`outside` are the pods that are there outside of all trials."""
    there = {**{each.uid: each for each in outside}, **snapshot.pods[0]}
    for each in ledger.tree.root.subtree():
        used = {name: amount for name, amount in ledger.used(each).items() if amount}
        assert used == recounted(snapshot, each)
        refilled = {name: amount for name, amount in ledger.refilled(each).items() if amount}
        assert refilled == summed(there.values(), each)
        over = any(used.get(name, 0) > each.min.get(name, 0) for name in ledger.tree.lent)
        assert (each in ledger.over()) == (over and bool(each.key))


steps = st.lists(
    st.tuples(st.sampled_from(("add", "remove", "try", "undo", "plant")), st.integers(0, 11), st.integers(0, 15)),
    max_size=40,
)


@given(steps)
@settings(max_examples=200, deadline=None)
def test_usage_agrees_with_a_recount_at_any_time(history: Iterable[tuple[str, int, int]]) -> None:
    snapshot = Snapshot()
    snapshot.set_node(node("a"))
    ledger = counted(snapshot)
    ledger.plant(QuotaTree.of(QUOTAS))
    pods = [of(NAMESPACES[n % 5], f"p{n}", cpu=str(n % 3), **({"gpu": "1"} if n % 2 else {})) for n in range(12)]
    trials, outside = [], list[PodInfo]()
    for what, number, mask in history:
        there = pods[number].uid in snapshot.pods[0]
        match what:
            case "add" if not there:
                snapshot.add_pod(pods[number], "a")
            case "remove" if there:
                snapshot.remove_pod(pods[number], "a")
            case "try":
                trials.append(snapshot.trial())
                trials[-1].__enter__()
            case "undo" if trials:
                trials.pop().__exit__(None, None, None)
            case "plant":
                ledger.plant(QuotaTree.of(each for at, each in enumerate(QUOTAS) if mask >> at & 1))
        if not trials:
            outside = [*snapshot.pods[0].values()]
        agrees(snapshot, ledger, outside)
    while trials:
        trials.pop().__exit__(None, None, None)
        agrees(snapshot, ledger, outside)
    assert not ledger.any_removed
    for each in ledger.tree.root.subtree():
        settled = {name: amount for name, amount in ledger.settled(each).items() if amount}
        assert settled == recounted(snapshot, each)
