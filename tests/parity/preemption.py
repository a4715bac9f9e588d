"""Random clusters that are full, and pods of higher priority that arrive one after another and preempt.

A cluster is a chain of situations: preemptors stay nominated and their victims stay terminating, for nobody
ends them here, so each pod decides among nominated pods and pods that go already. kube-scheduler takes any of several
candidates that are equal by all of its criteria; here none are, because every pod started in a second of its own.
Pure: the same seed gives the same cluster.
"""

from random import Random

from tests.builders import PodDict, make_node, make_pod
from tests.parity.clusters import APPS, HOST, ZONE, Cluster, labels
from tests.parity.world import NAMESPACES, Object

PODS = 4


def make_full_cluster(seed: int) -> Cluster:
    """The cluster of a seed, with little capacity on any node."""
    rng = Random(f"full cluster {seed}")
    cluster = Cluster(f"p{seed}")
    nodes = [
        make_node(f"{cluster.name}-node-{at}", cpu="4", memory="8Gi", pods=rng.choice(["5", "110"])).zone(
            rng.choice("ab")
        )
        for at in range(rng.randint(3, 6))
    ]
    last = make_node(f"{cluster.name}-last", cpu="100m").zone("a").taint("last")
    cluster.nodes = [node.name for node in nodes]
    cluster.objects += [*_budgets(rng), *nodes, last]
    for node in nodes:
        used = 0
        while used < 3600 and len(cluster.objects) < 90:
            amount = rng.choice([300, 700, 1200, 2000])
            used += amount
            cluster.objects.append(_running(rng, cluster, node.name, f"{min(amount, 4000 - used + amount)}m"))
    marker = make_pod(f"{cluster.name}-last", namespace="alpha").labels(last=cluster.name).node(last.name)
    cluster.objects.append(marker.priority_class("highest"))
    cluster.last = last.name, cluster.name
    return cluster


def make_preemptors(seed: int, scheduler: str) -> list[PodDict]:
    """Pods of higher priority than most of what runs."""
    rng = Random(f"preemptors {seed}")
    return [_preemptor(rng, f"p{seed}-pod-{at}").scheduler(scheduler) for at in range(PODS)]


def _budgets(rng: Random) -> list[Object]:
    return [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"budget-{app}", "namespace": namespace},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}},
            "status": {
                "disruptionsAllowed": rng.choice([0, 0, 1, 2]),
                "currentHealthy": 3,
                "desiredHealthy": 1,
                "expectedPods": 3,
            },
        }
        for app in APPS
        for namespace in NAMESPACES
        if rng.random() < 0.35
    ]


def _running(rng: Random, cluster: Cluster, node: str, cpu: str) -> PodDict:
    at = len(cluster.objects)
    pod = make_pod(f"{cluster.name}-running-{at}", namespace=rng.choice(list(NAMESPACES))).labels(labels(rng))
    pod.requests(cpu=cpu, memory=rng.choice(["100Mi", "1Gi", "2Gi"])).node(node)
    pod.priority_class(rng.choice(["low", "middle", "middle", "high", "highest"]))
    if rng.random() < 0.15:
        pod.host_port(8000 + at)
    if rng.random() < 0.1:
        pod.host_port(80 if at % 2 else 443, protocol="UDP" if at % 3 else "TCP")
    if rng.random() < 0.2:
        pod.apart(rng.choice([HOST, ZONE]), {"app": rng.choice(APPS)})
    pod["status"] = {
        "phase": "Running",
        "startTime": f"2026-01-{1 + at // 60 % 28:02}T{rng.randint(0, 23):02}:00:{at % 60:02}Z",
    }
    return pod


def _preemptor(rng: Random, name: str) -> PodDict:
    pod = make_pod(name, namespace=rng.choice(list(NAMESPACES))).labels(labels(rng))
    pod.requests(cpu=rng.choice(["500m", "1500m", "2500m", "3900m"]), memory=rng.choice(["64Mi", "2Gi", "6Gi"]))
    pod.priority_class(rng.choice(["middle", "high", "high", "highest", "highest", "polite"]))
    if rng.random() < 0.2:
        pod.host_port(rng.choice([80, 443]), protocol=rng.choice(["TCP", "UDP"]))
    if rng.random() < 0.25:
        pod.apart(rng.choice([HOST, ZONE]), {"app": rng.choice(APPS)})
    if rng.random() < 0.15:
        pod.near(ZONE, {"app": rng.choice(APPS)})
    if rng.random() < 0.25:
        pod.spread(rng.choice([HOST, ZONE]), {"tier": pod["metadata"]["labels"]["tier"]}, max_skew=rng.randint(1, 2))
    if rng.random() < 0.15:
        pod.node_selector({ZONE: rng.choice("ab")})
    return pod
