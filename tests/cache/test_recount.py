"""The self-check: it is silent about a sound cache and names node and column of whatever was corrupted."""

from collections.abc import Callable

import pytest

from muster.framework.cache.cache import Cache
from muster.framework.cache.recount import differences
from muster.framework.model.affinity_terms import AffinityTerm, CarriedTerm, TermKind
from muster.framework.model.label_selector import EVERYTHING, NOTHING
from muster.framework.model.pod_info import HostPort
from muster.framework.snapshot.relations import Clause, PodsMatching
from muster.framework.snapshot.snapshot import Snapshot
from tests.builders import make_node, make_pod
from tests.cache.objects import bound, node, pod

ZONE = "topology.kubernetes.io/zone"
WEB = bound(pod(make_pod("web").requests({"cpu": "1", "example.com/gpu": "1"}).host_port(80)), "a")


EVERY_POD = PodsMatching((Clause(None, EVERYTHING),), terminating=True)
KEPT_APART = CarriedTerm(TermKind.REQUIRED_APART, AffinityTerm(frozenset({"default"}), EVERYTHING, NOTHING, ZONE))


@pytest.fixture
def cache() -> Cache:
    """A node with everything, a pod on it, a plain node and a ghost; one row was given up in between."""
    cache = Cache(Snapshot(), lambda: 0.0)
    cache.set_node(node("gone"))
    cache.set_node(node(make_node("a").zone("z").taint("spot").image("web:1", size=10).unschedulable()))
    cache.set_node(node("b"))
    cache.snapshot.labels.column(ZONE)
    cache.add_pod(WEB)
    cache.add_pod(bound(pod("lost"), "ghost"))
    cache.remove_node("gone")
    return cache


def put_zone(snapshot: Snapshot) -> None:
    node = snapshot.nodes[1]
    assert node is not None
    snapshot.labels.set(1, {**node.metadata.labels, ZONE: "elsewhere"})


def drop_taints(snapshot: Snapshot) -> None:
    snapshot.taints.ids[1] = 0


def release_port(snapshot: Snapshot) -> None:
    snapshot.ports.remove(1, [HostPort("0.0.0.0", "TCP", 80)])


def claim_port_again(snapshot: Snapshot) -> None:
    snapshot.ports.add(1, [HostPort("0.0.0.0", "TCP", 80)])


def drop_images(snapshot: Snapshot) -> None:
    snapshot.images.set(1, [])


def uncordon(snapshot: Snapshot) -> None:
    snapshot.unschedulable[1] = False


def forget_pod(snapshot: Snapshot) -> None:
    snapshot.pods[1].clear()


def count_pod_twice(snapshot: Snapshot) -> None:
    snapshot.add_pod(WEB, "b")


def lose_claim(snapshot: Snapshot) -> None:
    snapshot.resources._unoffered.clear()


def count_labels_twice(snapshot: Snapshot) -> None:
    snapshot.relations.labels.add(WEB.label_set, 2)


def count_term_twice(snapshot: Snapshot) -> None:
    snapshot.relations.terms.add(KEPT_APART, 1)


def miscount_tally(snapshot: Snapshot) -> None:
    snapshot.relations.labels.tally(EVERY_POD).counts[1] += 1


def miscount(column: str, *index: int) -> Callable[[Snapshot], None]:
    """Adds one to a value of a resource column."""

    def corrupt(snapshot: Snapshot) -> None:
        getattr(snapshot.resources, column)[index] += 1

    return corrupt


def test_a_sound_cache_has_no_differences(cache: Cache) -> None:
    assert differences(cache) == []


def test_checking_changes_nothing(cache: Cache) -> None:
    usage, names = cache.snapshot.usage_journal.position, list(cache.snapshot.resources.names)
    differences(cache)
    assert cache.snapshot.usage_journal.position == usage
    assert cache.snapshot.resources.names == names


@pytest.mark.parametrize(
    ("corrupt", "sentences"),
    [
        (put_zone, [f"node a: label {ZONE} is ('elsewhere',) but should be ('z',)"]),
        (
            drop_taints,
            ["node a: taints is None but should be (Taint(key='spot', value='', effect='NoSchedule'),)"],
        ),
        (release_port, ["node a: number of claims on 0.0.0.0:80/TCP is None but should be 1"]),
        (claim_port_again, ["node a: number of claims on 0.0.0.0:80/TCP is 2 but should be 1"]),
        (drop_images, ["node a: image web:1 is None but should be 'present'"]),
        (uncordon, ["node a: unschedulable is None but should be True"]),
        (forget_pod, [f"node a: pod pod-default-web is None but should be {WEB!r}"]),
        (miscount("allocatable", 0, 1), ["node a: allocatable cpu is 4001 but should be 4000"]),
        (miscount("requested", 0, 1), ["node a: requested cpu is 1001 but should be 1000"]),
        (lose_claim, ["node a: claimed example.com/gpu, which no node offers is None but should be 1"]),
        (miscount("requested", 1, 3), ["node ghost: requested memory is 1048577 but should be 1048576"]),
        (miscount("nonzero", 0, 1), ["node a: cpu for scoring is 1001 but should be 1000"]),
        (miscount("nonzero", 1, 2), ["node b: memory for scoring is 1 but should be None"]),
        (miscount("allowed_pods", 1), ["node a: allowed number of pods is 111 but should be 110"]),
        (miscount("pod_count", 2), ["node b: number of pods is 1 but should be None"]),
        (count_labels_twice, ["node b: number of pods with LabelSet(default, {}) is 1 but should be None"]),
        (count_term_twice, [f"node a: number of pods with {KEPT_APART} is 1 but should be None"]),
        (miscount_tally, [f"the snapshot: tally of {EVERY_POD} is 'wrong' but should be None"]),
        (miscount("requested", 0, 0), ["free row 0: requested cpu is 1 but should be None"]),
    ],
)
def test_each_corrupted_column_is_named(
    cache: Cache, corrupt: Callable[[Snapshot], None], sentences: list[str]
) -> None:
    corrupt(cache.snapshot)
    assert differences(cache) == sentences


def test_a_pod_counted_on_two_nodes_is_noticed(cache: Cache) -> None:
    count_pod_twice(cache.snapshot)
    assert f"node b: pod pod-default-web is {WEB!r} but should be None" in differences(cache)
    assert "node b: number of pods is 1 but should be None" in differences(cache)


def test_a_node_missed_in_the_count_of_nodes_is_noticed(cache: Cache) -> None:
    cache.snapshot.node_count -= 1
    assert differences(cache) == ["the snapshot: number of nodes is 1 but should be 2"]
