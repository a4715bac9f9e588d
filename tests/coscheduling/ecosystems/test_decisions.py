"""The pods of each operator run as its users expect, on clusters with enough capacity, too little, and none."""

import pytest

from tests.builders import make_node
from tests.coscheduling.announced import word
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.ecosystems.manifests_reader import NAMES, manifests
from tests.coscheduling.objects import GROUP_LABEL
from tests.coscheduling.world import World

GPU = "nvidia.com/gpu"
SCHEDULERS = ("muster", "scheduler-plugins-scheduler")


@pytest.fixture
def cluster(make_world: MakeWorld) -> World:
    """Muster answers to both names that the manifests use."""
    return make_world(names=SCHEDULERS)


def enough(world: World, nodes: int = 4, cpu: str = "8") -> None:
    """Room for anything in the manifests."""
    world.add_nodes(*(make_node(f"n-{number}", cpu=cpu).resources({GPU: "1"}) for number in range(nodes)))


def create(world: World, name: str) -> tuple[str, list[str]]:
    """Create the group, then its pods. Returns the group's name and the pods' keys."""
    found = manifests(name)
    world.api.put("podgroups", found.group)
    return found.name, world.add(*found.pods)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "training-operator"])
async def test_everything_starts_with_enough_capacity(cluster: World, name: str) -> None:
    enough(cluster)
    _, keys = create(cluster, name)
    await cluster.settle()

    assert set(cluster.bound()) == set(keys)
    cluster.check()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("training-operator", "spark-operator")])
async def test_nothing_starts_and_nothing_is_held_where_one_pod_too_few_has_room(cluster: World, name: str) -> None:
    found = manifests(name)
    per_pod = [pod["spec"]["containers"][0]["resources"]["requests"] for pod in found.pods]
    for number, requests in enumerate(per_pod[1:]):
        cluster.add_nodes(make_node(f"n-{number}", cpu=requests["cpu"]).resources({GPU: str(requests.get(GPU, 0))}))
    create(cluster, name)
    await cluster.run(30)

    assert cluster.bound() == []
    assert cluster.engine.cache.assumed_count == 0
    cluster.add_nodes(make_node("last", cpu="2").resources({GPU: "1"}))
    await cluster.run(15)
    assert len(cluster.bound()) == len(found.pods)


async def test_a_trainjob_waits_until_its_graphics_cards_are_free_in_sum(cluster: World) -> None:
    enough(cluster, nodes=3)
    _, keys = create(cluster, "kubeflow-trainer")
    await cluster.run(5)

    assert cluster.notes(keys[0])[0] == "0/3 nodes are available: resource gap: map[nvidia.com/gpu:1]."
    assert word(cluster, "torch") == ("NotEnoughResources", "resource gap: map[nvidia.com/gpu:1]")
    enough(cluster, nodes=4)
    await cluster.run(5)
    assert len(cluster.bound()) == 4


async def test_a_minavailable_above_the_number_of_pods_waits_and_says_so_until_it_is_lowered(cluster: World) -> None:
    enough(cluster)
    group, keys = create(cluster, "training-operator")
    await cluster.run(60)
    assert cluster.bound() == []
    assert cluster.notes(keys[0])[-1] == (
        "0/4 nodes are available: pre-filter pod mnist-master-0 cannot find enough sibling pods, "
        "current pods number: 3, minMember of group: 4."
    )
    assert word(cluster, group) == ("WaitingForPods", "3 of 4 pods exist")

    cluster.change_group(f"default/{group}", minMember=3)
    await cluster.settle()
    assert len(cluster.bound()) == 3


async def test_a_timeout_of_0_is_no_timeout_of_its_own(make_world: MakeWorld) -> None:
    """Pod by pod, where it matters: members wait as long as the arguments say, not no time at all."""
    world = make_world(
        {"placement": "PodByPod", "podGroupRejectPercentage": 100, "permitWaitingTimeSeconds": 20}, names=SCHEDULERS
    )
    world.add_nodes(make_node("n", cpu="4"))
    found = manifests("mpi-operator")
    del found.group["spec"]["minResources"]
    world.api.put("podgroups", found.group)
    world.add(*found.pods)
    await world.run(19)
    assert len(world.engine.waiting_pods) == 2
    world.add_nodes(make_node("m", cpu="2"))
    await world.settle()

    assert len(world.bound()) == 3


async def test_workers_of_a_ray_cluster_that_is_scaled_up_join_singly(cluster: World) -> None:
    enough(cluster)
    create(cluster, "kuberay")
    await cluster.settle()
    found = manifests("kuberay")
    for number in range(3):
        worker = found.pods[-1]
        worker["metadata"]["name"] = f"ray-workers-worker-new-{number}"
        [key] = cluster.add(worker)
        await cluster.settle()
        assert cluster.node_of(key)


async def test_a_ray_cluster_that_was_scaled_down_says_that_its_podgroup_is_stale(cluster: World) -> None:
    enough(cluster)
    group, keys = create(cluster, "kuberay")
    await cluster.settle()
    cluster.delete(*keys[2:])
    await cluster.run(5)
    assert len(cluster.bound()) == 2

    worker = manifests("kuberay").pods[-1]
    worker["metadata"]["name"] = "ray-workers-worker-again"
    [key] = cluster.add(worker)
    await cluster.run(5)
    assert cluster.node_of(key) == ""
    assert word(cluster, group) == ("WaitingForPods", "3 of 4 pods exist")


async def test_of_two_spark_apps_of_sixty_per_cent_each_one_runs_and_the_other_waits_with_its_driver(
    cluster: World,
) -> None:
    cluster.add_nodes(make_node("a", cpu="5"), make_node("b", cpu="5"))
    apps = []
    for app in ("wordcount", "pagerank"):
        found = manifests("spark-operator")
        documents = [found.group, *found.pods]
        for document in documents:
            document["metadata"]["name"] = document["metadata"]["name"].replace("wordcount", app)
        for pod in found.pods:
            pod["metadata"]["labels"][GROUP_LABEL] = f"{app}-pg"
        cluster.api.put("podgroups", found.group)
        apps.append(found)
    drivers = []
    for found in apps:
        drivers += cluster.add(found.pods[0])
        await cluster.run(20)
    assert cluster.bound() == drivers[:1]

    cluster.add(*apps[0].pods[1:])
    await cluster.run(20)
    assert len(cluster.bound("wordcount-pg")) == 6
    assert cluster.bound("pagerank-pg") == []
    assert cluster.notes(drivers[1])[-1] == "0/2 nodes are available: resource gap: map[cpu:2]."

    for key in cluster.bound():
        cluster.set_phase(key, "Succeeded")
    await cluster.run(5)
    assert cluster.bound("pagerank-pg") == drivers[1:]
    cluster.add(*apps[1].pods[1:])
    await cluster.settle()
    assert len(cluster.bound("pagerank-pg")) == 6
