"""Pods with claims are simulated with the storage that there is, and with what manifests bring along."""

import json
from collections.abc import Mapping
from typing import Any

from muster.operator.simulate.manifests import Objects, read
from tests.builders import make_node, make_pod
from tests.simulate.rehearsing import KINDS, muster, simulate
from tests.storage import make_capacity, make_claim, make_class, make_csi_driver, make_csi_node, make_volume

LOCAL = make_class("local", provisioner="kubernetes.io/no-provisioner")


def objects(*found: Mapping[str, Any]) -> Objects:
    return read(json.dumps({"kind": "List", "items": found}), "test", muster().kinds_to_read(), kinds=KINDS)


def in_a_manifest(found: Mapping[str, Any]) -> dict[str, Any]:
    """As people write it: nothing of it is stored yet."""
    return {key: value for key, value in found.items() if key != "status"} | {
        "metadata": {key: value for key, value in found["metadata"].items() if key in ("name", "labels")}
    }


async def test_claims_of_manifests_get_the_volumes_that_there_are_one_after_another() -> None:
    volumes = [make_volume(f"on-{node}", storage_class="local").on(node) for node in ("one", "two")]
    cluster = objects(LOCAL, *volumes, *(make_node(name) for name in ("one", "two", "three")))
    claims = [in_a_manifest(make_claim(name, storage_class="local")) for name in ("a", "b", "c")]
    wanted = objects(*claims, *(make_pod(name).claim(name) for name in ("a", "b", "c")))
    placements, missing = await simulate(cluster, wanted)
    assert sorted(placement.node for placement in placements.values()) == ["", "one", "two"]
    reason = "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind."
    [refused] = [placement.reason for placement in placements.values() if not placement.node]
    assert refused.startswith(reason)
    assert missing is None


async def test_a_stateful_set_gets_its_claims_made_and_each_its_volume() -> None:
    template = in_a_manifest(make_claim("data", storage_class="made", size="5Gi"))
    spec = {
        "replicas": 3,
        "template": {"spec": {"schedulerName": "muster", "containers": [{"name": "main", "image": "db"}]}},
        "volumeClaimTemplates": [template],
    }
    db = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec}
    storage = [make_class("made"), make_csi_driver("csi.example.com", storageCapacity=True)]
    capacity = make_capacity("for-two", "made", {"kubernetes.io/hostname": "two"}, "9Gi")
    limits = [make_csi_node(name, {"csi.example.com": 2}) for name in ("one", "two")]
    cluster = objects(*storage, capacity, *limits, make_node("one"), make_node("two"))
    placements, _ = await simulate(cluster, objects(db))
    assert {name: placement.node for name, placement in placements.items()} == {
        "db-0": "two",
        "db-1": "two",
        "db-2": "",
    }
    one, two = "1 node(s) did not have enough free storage", "1 node(s) exceed max volume count"
    assert placements["db-2"].reason.startswith(f"0/2 nodes are available: {one}, {two}.")


async def test_ephemeral_volumes_have_claims_of_their_own() -> None:
    template = {"spec": in_a_manifest(make_claim("x", storage_class="made"))["spec"]}
    pod = make_pod("web").volume("scratch", ephemeral={"volumeClaimTemplate": template})
    placements, _ = await simulate(objects(make_class("made"), make_node("one")), objects(pod))
    assert placements["web"].node == "one"


async def test_an_unknown_claim_is_reported_as_missing() -> None:
    placements, _ = await simulate(objects(make_node("one")), objects(make_pod("web").claim("nope")))
    assert placements["web"].reason.startswith('0/1 nodes are available: persistentvolumeclaim "nope" not found.')
