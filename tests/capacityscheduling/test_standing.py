"""The standing of a namespace in sentences, and where users read them: `why` of pods and groups, and `simulate`."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.snapshot import Snapshot
from muster.operator.explain.group_trial import sentences, try_group
from muster.operator.explain.live import explain_among
from muster.operator.explain.tables import render
from muster.operator.simulate.manifests import Objects, read
from muster.plugins.capacityscheduling.ledger import QuotaLedger
from muster.plugins.capacityscheduling.standing import standing
from muster.plugins.capacityscheduling.tree import QuotaTree
from tests.builders import PodDict, make_node, make_pod
from tests.cache.objects import node, pod
from tests.capacityscheduling.objects import make_quota, quota
from tests.simulate.rehearsing import GANG_ID, KINDS, member, muster, pod_group, simulate


def cluster_of(*found: Mapping[str, Any]) -> Objects:
    """These objects with quotas among them."""
    return read(json.dumps({"kind": "List", "items": found}), "test", muster().kinds_to_read(), kinds=KINDS)


def running(namespace: str, name: str, **requests: str) -> PodDict:
    return make_pod(name, namespace=namespace).requests(requests).node("one").phase("Running")


def ledger_of(*pods: PodInfo, **quotas: Mapping[str, Any]) -> QuotaLedger:
    """The ledger of quotas by namespace, with these pods on a node."""
    snapshot = Snapshot()
    snapshot.set_node(node("one"))
    ledger = QuotaLedger(snapshot.usage())
    ledger.plant(QuotaTree.of(quota(namespace, **fields) for namespace, fields in quotas.items()))
    for each in pods:
        snapshot.add_pod(each, "one")
    return ledger


def of(namespace: str, **requests: str) -> PodInfo:
    return pod(make_pod("one", namespace=namespace).requests(requests))


@pytest.mark.parametrize(
    ("used", "fields", "sentences"),
    [
        ({"cpu": "2"}, {"min": {"cpu": "4"}}, ["namespace ml uses 2 of 4 cpu"]),
        ({"cpu": "2"}, {"min": {"cpu": "4"}, "max": {"cpu": "8"}}, ["namespace ml uses 2 of 8 cpu"]),
        (
            {"cpu": "6"},
            {"min": {"cpu": "4"}, "max": {"cpu": "8"}},
            ["namespace ml uses 6 of 8 cpu; 2 of them borrowed, reclaimable by dev"],
        ),
        ({"cpu": "6"}, {}, ["namespace ml uses 6 of 0 cpu; 6 of them borrowed, reclaimable by dev"]),
        (
            {"memory": "1Gi"},
            {"max": {"memory": "2Gi", "pods": 3}},
            ["namespace ml uses 1Gi of 2Gi memory", "namespace ml uses 1 of 3 pods"],
        ),
    ],
)
def test_each_resource_has_a_sentence(used: Mapping[str, str], fields: Mapping[str, Any], sentences: list[str]) -> None:
    ledger = ledger_of(of("ml", **used), ml=fields, dev={"min": {"cpu": "1"}})
    assert standing(ledger, "ml") == sentences


def test_a_quota_that_uses_all_of_its_guarantee_reclaims_nothing() -> None:
    ledger = ledger_of(of("ml", cpu="6"), of("dev", cpu="1"), ml={"min": {"cpu": "4"}}, dev={"min": {"cpu": "1"}})
    assert standing(ledger, "ml") == ["namespace ml uses 6 of 4 cpu; 2 of them borrowed"]


def test_a_namespace_without_a_quota_has_no_standing() -> None:
    assert standing(ledger_of(ml={"min": {"cpu": "4"}}), "dev") == []


SENTENCE = "namespace ml uses 3 of 3 cpu; 2 of them borrowed, reclaimable by dev"
SHARED = (
    make_node("one", cpu="8"),
    make_quota("ml", min={"cpu": "1"}, max={"cpu": "3"}),
    make_quota("dev", min={"cpu": "4"}),
    running("ml", "old", cpu="3"),
)


async def test_why_of_a_pod_tells_what_its_namespace_uses() -> None:
    [waiting] = cluster_of(make_pod("new", namespace="ml").requests(cpu="1")).pods
    explained = await explain_among(muster(), cluster_of(*SHARED), PodInfo(waiting))
    assert SENTENCE in [*render(explained)]


async def test_why_of_a_group_tells_it_too_and_that_no_node_would_help() -> None:
    gang = [PodDict(member(f"m-{n}", "gang").requests(cpu="1")) for n in range(2)]
    quotas = (make_quota("default", max={"cpu": "1"}), make_quota("dev", min={"cpu": "4"}))
    trial = await try_group(
        muster(), cluster_of(make_node("one", cpu="8"), *quotas, pod_group("gang", 2), *gang), GANG_ID
    )
    assert trial is not None
    assert "namespace default uses 0 of 1 cpu" in sentences(trial)
    assert trial.lack is None


async def test_simulate_places_no_pod_over_quota_and_asks_for_no_nodes() -> None:
    wanted = cluster_of(*(make_pod(name, namespace="ml").requests(cpu="1") for name in ("a", "b")))
    cluster = cluster_of(make_node("one", cpu="8"), make_quota("ml", max={"cpu": "1"}))
    placements, missing = await simulate(cluster, wanted)
    assert {name: each.node for name, each in placements.items()} == {"a": "one", "b": ""}
    assert placements["b"].reason.startswith(
        "0/1 nodes are available: namespace ml uses 1 of 1 cpu, its max; 1 more is needed."
    )
    assert not placements["b"].lacks_nodes
    assert missing is None
