"""Random pods of every kind that kube-scheduler's default plugins look at. Pure: a seed in, pods out."""

from collections.abc import Callable
from random import Random

from tests.builders import PodDict, make_pod, require
from tests.parity.clusters import (
    APPS,
    BACKED,
    DEVICE_PLUGIN,
    HOST,
    IMAGES,
    LIMITED,
    REGION,
    TIERS,
    ZONE,
    Cluster,
    labels,
)
from tests.parity.world import NAMESPACES

Trait = Callable[[Random, PodDict, Cluster], object]


def make_pods(seed: int, cluster: Cluster, count: int, profiles: list[str]) -> list[PodDict]:
    """Pods for a cluster, each with one to three traits, for any of the profiles."""
    rng = Random(f"pods {seed}")
    pods = []
    for at in range(count):
        pod = make_pod(
            f"{cluster.name}-pod-{at}", namespace=rng.choice(list(NAMESPACES)), image=rng.choice(list(IMAGES))
        )
        pod.labels(labels(rng)).scheduler(rng.choice(profiles))
        _resources(rng, pod, cluster)
        for trait in dict.fromkeys(rng.sample(TRAITS, rng.choice([0, 1, 1, 2, 2, 3]))):
            trait(rng, pod, cluster)
        pods.append(pod)
    return pods


def _resources(rng: Random, pod: PodDict, cluster: Cluster) -> None:
    if rng.random() < 0.9:
        pod.requests(cpu=rng.choice(["1m", "100m", "0.5", "1", "3"]), memory=rng.choice(["1", "64Mi", "1Gi", "3e9"]))


def _containers(rng: Random, pod: PodDict, cluster: Cluster) -> None:
    for at in range(rng.randint(1, 2)):
        amounts = {"cpu": rng.choice(["50m", "700m"]), "memory": "128Mi"}
        pod.container(f"more-{at}", amounts, image=rng.choice(list(IMAGES)))
        pod.init_container(f"init-{at}", {"cpu": rng.choice(["2", "10m"]), "memory": "1Gi"}, sidecar=rng.random() < 0.5)


def _odd_resources(rng: Random, pod: PodDict, cluster: Cluster) -> None:
    if rng.random() < 0.5:
        pod.limits({rng.choice([DEVICE_PLUGIN, "example.com/nobody-has-it"]): rng.choice("124")})
    else:
        pod.requests({"ephemeral-storage": rng.choice(["1Gi", "50Gi"])})
    if rng.random() < 0.3:
        pod.limits({"hugepages-2Mi": "4Mi", "memory": "4Gi"})


def _pod_level(rng: Random, pod: PodDict, cluster: Cluster) -> None:
    pod["spec"]["resources"] = {"requests": {"cpu": rng.choice(["6", "7"]), "memory": "6Gi"}}


def _tolerations(rng: Random, pod: PodDict, cluster: Cluster) -> None:
    pod.tolerate(rng.choice(["dedicated", "spot", "broken", ""]), effect=rng.choice(["", "NoSchedule"]))
    pod.tolerate(rng.choice(["dedicated", "spot"]), value=rng.choice("xy"), effect="PreferNoSchedule")


def _nodes(rng: Random, pod: PodDict, cluster: Cluster) -> None:
    tests = [
        require("disk", "In", "ssd"),
        require("disk", "NotIn", "hdd"),
        require("disk", "DoesNotExist"),
        require("cores", "Gt", "4"),
        require("cores", "Lt", "16"),
        require(ZONE, "In", "a", "b"),
    ]
    if rng.random() < 0.3:
        pod.node_selector({"disk": rng.choice(["ssd", "tape"])})
    if rng.random() < 0.6:
        pod.require_nodes(*rng.sample(tests, rng.randint(1, 2)))
    if rng.random() < 0.6:
        pod.prefer_nodes(rng.randint(1, 100), rng.choice(tests)).prefer_nodes(rng.randint(1, 100), rng.choice(tests))
    if rng.random() < 0.2:
        fields = [require("metadata.name", "In", rng.choice(cluster.nodes))]
        required = {"nodeSelectorTerms": [{"matchFields": fields}]}
        pod["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})[
            "requiredDuringSchedulingIgnoredDuringExecution"
        ] = required


def _ports(rng: Random, pod: PodDict, cluster: Cluster) -> None:
    port, protocol = rng.choice([80, 443, 8080]), rng.choice(["TCP", "UDP"])
    pod.host_port(port, protocol=protocol, ip=rng.choice([None, "127.0.0.1", "0.0.0.0"]))


def _spread(rng: Random, pod: PodDict, cluster: Cluster) -> None:
    for key in rng.sample([ZONE, HOST, REGION], rng.randint(1, 2)):
        more: dict[str, object] = {}
        if rng.random() < 0.4:
            more["nodeTaintsPolicy"] = rng.choice(["Honor", "Ignore"])
            more["nodeAffinityPolicy"] = rng.choice(["Honor", "Ignore"])
        if rng.random() < 0.3:
            more["matchLabelKeys"] = ["version"]
        if rng.random() < 0.5:
            more["whenUnsatisfiable"] = "ScheduleAnyway"
        elif rng.random() < 0.3:
            more["minDomains"] = rng.randint(2, 4)
        selects = {"app": rng.choice([pod["metadata"]["labels"]["app"], *APPS])}
        pod.spread(key, selects, max_skew=rng.randint(1, 3), **more)


def _affinity(rng: Random, pod: PodDict, cluster: Cluster) -> None:
    ask = rng.choice([pod.near, pod.apart])
    more: dict[str, object] = {}
    if rng.random() < 0.4:
        more["namespaceSelector"] = rng.choice([{}, {"matchLabels": {"team": "a"}}])
    elif rng.random() < 0.3:
        more["namespaces"] = ["alpha", "beta"]
    if rng.random() < 0.2:
        more["matchLabelKeys"] = ["version"]
    weight = rng.choice([None, None, rng.randint(1, 100)])
    selects = {"app": rng.choice(APPS)} if rng.random() < 0.7 else {"tier": rng.choice(TIERS)}
    ask(rng.choice([ZONE, HOST, REGION]), selects, weight=weight, **more)


def _volumes(rng: Random, pod: PodDict, cluster: Cluster) -> None:
    if rng.random() < 0.15:
        pod.volume("inline", csi={"driver": LIMITED})
        return
    claim, namespace = cluster.claims.pop(0) if cluster.claims else (f"{cluster.name}-missing", "alpha")
    pod["metadata"]["namespace"] = namespace
    pod.claim(claim)


def _devices(rng: Random, pod: PodDict, cluster: Cluster) -> None:
    if "resourceClaims" in pod["spec"]:
        return
    if rng.random() < 0.3:
        pod.limits({BACKED: "1"}).annotations({"devices": "backed"})
        return
    claim, namespace = cluster.devices.pop(0) if cluster.devices else (f"{cluster.name}-missing", "alpha")
    if any("persistentVolumeClaim" in volume for volume in pod["spec"].get("volumes", ())):
        return
    pod["metadata"]["namespace"] = namespace
    source = {"resourceClaimTemplateName": claim} if rng.random() < 0.1 else {"resourceClaimName": claim}
    pod["spec"]["resourceClaims"] = [{"name": "devices", **source}]
    pod["spec"]["containers"][0].setdefault("resources", {})["claims"] = [{"name": "devices"}]


def _gate(rng: Random, pod: PodDict, cluster: Cluster) -> None:
    if rng.random() < 0.3:
        pod.gate("example.com/quota")


def _features(rng: Random, pod: PodDict, cluster: Cluster) -> None:
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [3]}}]
    pod["spec"]["containers"][0].update(restartPolicy="Never", restartPolicyRules=rules)


TRAITS: list[Trait] = [
    _containers,
    _odd_resources,
    _pod_level,
    _tolerations,
    _nodes,
    _ports,
    _spread,
    _spread,
    _affinity,
    _affinity,
    _volumes,
    _volumes,
    _devices,
    _devices,
    _gate,
    _features,
]
