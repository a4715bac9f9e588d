"""Nominated pods: who counts them as used already, on which nodes they claim, and that a trial counts none twice."""

import pytest

from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.snapshot import Snapshot
from muster.plugins.capacityscheduling.ledger import QuotaLedger
from muster.plugins.capacityscheduling.nominated import nominated_beside
from muster.plugins.capacityscheduling.tree import QuotaTree
from tests.builders import make_pod
from tests.cache.objects import node, pod
from tests.capacityscheduling.objects import quota


def of(namespace: str, name: str, *, priority: int = 0, cpu: str = "1") -> PodInfo:
    return pod(make_pod(name, namespace=namespace).requests(cpu=cpu).priority(priority))


@pytest.fixture
def snapshot() -> Snapshot:
    snapshot = Snapshot()
    snapshot.set_node(node("a"))
    return snapshot


@pytest.fixture
def ledger(snapshot: Snapshot) -> QuotaLedger:
    """Two cores are guaranteed to ml, none to dev."""
    ledger = QuotaLedger(snapshot.usage())
    ledger.plant(QuotaTree.of([quota("ml", min={"cpu": "2"}), quota("dev")]))
    return ledger


def ahead(ledger: QuotaLedger, seen_by: PodInfo, *nominated: PodInfo) -> dict[str, int]:
    """The CPU that counts as used beside a pod, by quota."""
    found = nominated_beside(seen_by, (), [(each, "a") for each in nominated], ledger)
    return {each.key: amounts["cpu"] for each, amounts in found.ahead.items()}


@pytest.mark.parametrize(("priority", "counts"), [(-1, False), (0, True), (1, True)])
def test_pods_of_its_namespace_count_if_they_are_as_important(ledger: QuotaLedger, priority: int, counts: bool) -> None:
    other = of("ml", "other", priority=priority)
    assert ahead(ledger, of("ml", "pod"), other) == ({"ml/quota": 1000, "": 1000} if counts else {})


def test_pods_of_others_that_are_within_their_min_count_and_claim_their_node(ledger: QuotaLedger) -> None:
    claimant, borrower = of("ml", "claimant", priority=-1), of("dev", "borrower", priority=-1)
    assert ahead(ledger, of("dev", "pod"), claimant) == {"ml/quota": 1000, "": 1000}
    assert ahead(ledger, of("ml", "pod"), borrower) == {}
    found = nominated_beside(of("dev", "pod"), (), [(claimant, "a"), (borrower, "b")], ledger)
    assert {name: amounts["cpu"] for name, amounts in found.claims.items()} == {"a": 1000}


def test_the_pod_itself_pods_decided_with_it_and_pods_without_a_quota_do_not_count(ledger: QuotaLedger) -> None:
    mine, sibling, free = of("ml", "mine"), of("ml", "sibling"), of("none", "free")
    nominations = [(each, "a") for each in (mine, sibling, free)]
    assert nominated_beside(mine, {sibling.uid}, nominations, ledger).ahead == {}


def test_nominated_pods_that_a_trial_has_placed_are_not_counted_twice(snapshot: Snapshot, ledger: QuotaLedger) -> None:
    one, other, mine = of("ml", "one"), of("ml", "other", cpu="2"), of("ml", "pod")
    before = nominated_beside(mine, (), [(one, "a"), (other, "a")], ledger)
    with snapshot.trial():
        snapshot.add_pod(other, "a")
        for found in (before.beside_trial(ledger), nominated_beside(mine, (), [(one, "a"), (other, "a")], ledger)):
            assert {each.key: amounts["cpu"] for each, amounts in found.ahead.items()} == {"ml/quota": 1000, "": 1000}
    assert {each.key: amounts["cpu"] for each, amounts in before.ahead.items()} == {"ml/quota": 3000, "": 3000}
    assert before.beside_trial(ledger) is before
