"""Gangs on shares of GPUs by DRA's consumable capacity: the manifests of the page, applied literally."""

import json
from typing import Any

from muster.framework.model.quantity import nanos
from muster.sandbox.kinds import JOBS, RESOURCE_CLAIMS
from tests.applied import AppliedCluster, on_the_page
from tests.builders import make_node

PAGE = "gpus.md"


def slice_of(node: str) -> dict[str, Any]:
    """The page's ResourceSlice, published by the driver on this node."""
    [found] = on_the_page(PAGE, "kind: ResourceSlice")
    renamed: dict[str, Any] = json.loads(json.dumps(found).replace("node-1", node))
    return renamed


def cluster_of_two() -> AppliedCluster:
    """A cluster with the page's node and another one."""
    return AppliedCluster([make_node("node-1"), make_node("node-2")], judged=False)


def quarters(name: str = "quarters", members: int = 3) -> list[dict[str, Any]]:
    """The page's PodGroup and Job under another name, with other sizes."""
    *_, group, job = json.loads(json.dumps(on_the_page(PAGE, "name: quarter-gpu")).replace('"quarters"', f'"{name}"'))
    group["spec"]["minMember"] = job["spec"]["parallelism"] = job["spec"]["completions"] = members
    return [group, job]


def results(cluster: AppliedCluster, job: str) -> list[dict[str, Any]]:
    """What the claims of a Job's pods were allocated."""
    claims = [each for each in cluster.objects(RESOURCE_CLAIMS) if each["metadata"]["name"].startswith(job)]
    allocations = [claim["status"]["allocation"] for claim in claims if "allocation" in claim.get("status", {})]
    return [result for allocation in allocations for result in allocation["devices"]["results"]]


def test_the_pages_gang_shares_one_gpu_and_each_claim_says_what_it_consumes() -> None:
    with cluster_of_two() as cluster:
        cluster.apply(slice_of("node-1"), *on_the_page(PAGE, "name: quarter-gpu"))
        cluster.run(20)
        assert cluster.nodes_of("quarters") == ["node-1"] * 3
        found = results(cluster, "quarters")
        consumed = {"memory": nanos("4Gi"), "cores": nanos("30")}
        for each in found:
            assert each["device"] == "gpu-0"
            assert {name: nanos(amount) for name, amount in each["consumedCapacity"].items()} == consumed
        assert len({each["shareID"] for each in found}) == 3


def test_a_gang_for_which_too_little_is_left_holds_no_share_and_starts_when_shares_are_free() -> None:
    with cluster_of_two() as cluster:
        cluster.apply(slice_of("node-1"), slice_of("node-2"), *on_the_page(PAGE, "name: quarter-gpu"))
        cluster.run(20)
        cluster.apply(*quarters("large", 4))
        cluster.run(20)
        assert (cluster.nodes_of("large"), results(cluster, "large")) == ([], [])
        assert cluster.waits_because("large") == {"Unschedulable"}
        assert cluster.holds_nothing()

        cluster.apply(*quarters("small", 2))
        cluster.run(20)
        assert cluster.nodes_of("small") == ["node-2"] * 2

        cluster.delete("quarters", JOBS)
        cluster.run(20)
        assert len(cluster.nodes_of("large")) == 4
        assert len(results(cluster, "large")) == 4


def test_a_gang_takes_shares_of_the_gpus_of_several_nodes() -> None:
    with cluster_of_two() as cluster:
        device_class, template, *_ = on_the_page(PAGE, "name: quarter-gpu")
        cluster.apply(slice_of("node-1"), slice_of("node-2"), device_class, template, *quarters("five", 5))
        cluster.run(20)
        assert sorted(map(cluster.nodes_of("five").count, ("node-1", "node-2"))) == [2, 3]
