"""Usage by namespace: counted from the first question on, in trials and after them, and by the recount."""

import pytest

from muster.framework.cache.cache import Cache
from muster.framework.cache.recount import differences
from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.snapshot import Snapshot
from tests.builders import make_pod
from tests.cache.objects import bound, node, pod


def of(namespace: str, name: str, **requests: str) -> PodInfo:
    return pod(make_pod(name, namespace=namespace).requests(requests))


TRAINER = of("ml", "trainer", cpu="4", memory="1Gi", gpu="2")
READER = of("ml", "reader", cpu="500m")
SHELL = of("dev", "shell", cpu="1")


@pytest.fixture
def snapshot() -> Snapshot:
    """A pod of ml, and one of dev on a node that is not known."""
    snapshot = Snapshot()
    snapshot.set_node(node("a"))
    snapshot.add_pod(TRAINER, "a")
    snapshot.add_pod(SHELL, "ghost")
    return snapshot


def test_nothing_is_counted_before_the_first_question(snapshot: Snapshot) -> None:
    assert dict(snapshot.namespaces.namespaces()) == {}


def test_the_first_question_counts_the_pods_that_are_there(snapshot: Snapshot) -> None:
    usage = snapshot.usage()
    assert dict(usage.used("ml")) == {"pods": 1, "cpu": 4000, "memory": 1 << 30, "gpu": 2}
    assert dict(usage.used("dev")) == {"pods": 1, "cpu": 1000}
    assert dict(usage.used("empty")) == {}


def test_a_namespace_is_forgotten_with_its_last_pod_and_a_resource_with_the_last_request(snapshot: Snapshot) -> None:
    usage = snapshot.usage()
    snapshot.add_pod(READER, "a")
    assert usage.used("ml")["cpu"] == 4500
    snapshot.remove_pod(TRAINER, "a")
    assert dict(usage.used("ml")) == {"pods": 1, "cpu": 500}
    snapshot.remove_pod(READER, "a")
    assert set(usage.namespaces()) == {"dev"}


def test_a_trial_counts_inside_and_leaves_what_is_settled_alone(snapshot: Snapshot) -> None:
    usage = snapshot.usage()
    before = dict(usage.used("ml")), dict(usage.used("dev")), usage.revision("ml")
    with snapshot.trial():
        snapshot.remove_pod(TRAINER, "a")
        with snapshot.trial():
            snapshot.add_pod(READER, "a")
            assert dict(usage.used("ml")) == {"pods": 1, "cpu": 500}
            assert usage.settled("ml")["cpu"] == 4000
        assert dict(usage.used("ml")) == {}
    assert (dict(usage.used("ml")), dict(usage.used("dev")), usage.revision("ml")) == before
    assert dict(usage.settled("ml")) == before[0]


def test_counting_cannot_begin_in_a_trial(snapshot: Snapshot) -> None:
    with snapshot.trial(), pytest.raises(RuntimeError):
        snapshot.usage()


def test_each_namespace_that_changed_is_named_once(snapshot: Snapshot) -> None:
    usage = snapshot.usage()
    usage.take_changed()
    snapshot.add_pod(READER, "a")
    snapshot.remove_pod(SHELL, "ghost")
    snapshot.remove_pod(READER, "a")
    assert list(usage.take_changed()) == ["ml", "dev"]
    assert list(usage.take_changed()) == []


def test_the_recount_names_a_wrong_sum() -> None:
    cache = Cache(Snapshot(), lambda: 0.0)
    cache.set_node(node("a"))
    cache.add_pod(bound(SHELL, "a"))
    usage = cache.snapshot.usage()
    assert differences(cache) == []
    usage.change(SHELL, 1, tentative=True)
    assert differences(cache) == [
        "namespace dev: used cpu is 2000 but should be 1000",
        "namespace dev: used pods is 2 but should be 1",
    ]


def test_the_pods_that_a_trial_has_added_are_known_until_it_is_undone(snapshot: Snapshot) -> None:
    usage = snapshot.usage()
    with snapshot.trial():
        snapshot.add_pod(READER, "a")
        snapshot.remove_pod(TRAINER, "a")
        snapshot.add_pod(TRAINER, "a")
        assert usage.added == {READER.uid}
    assert usage.added == set()


def test_the_usage_that_a_trial_has_removed_is_known_until_it_comes_back(snapshot: Snapshot) -> None:
    usage = snapshot.usage()
    with snapshot.trial():
        snapshot.add_pod(READER, "a")
        assert not usage.any_removed
        snapshot.remove_pod(TRAINER, "a")
        snapshot.remove_pod(READER, "a")
        assert dict(usage.removed("ml")) == {"pods": 1, "cpu": 4000, "memory": 1 << 30, "gpu": 2}
        snapshot.add_pod(TRAINER, "a")
        assert not usage.any_removed
        snapshot.remove_pod(SHELL, "ghost")
        assert dict(usage.removed("dev")) == {"pods": 1, "cpu": 1000}
        assert dict(usage.removed("ml")) == {}
    assert not usage.any_removed
    assert dict(usage.removed("dev")) == {}


def test_the_revision_of_a_namespace_moves_with_its_own_pods_and_with_each_version_of_them(snapshot: Snapshot) -> None:
    usage = snapshot.usage()
    seen = [usage.revision("ml")]
    snapshot.add_pod(READER, "a")
    seen.append(usage.revision("ml"))
    later = PodInfo(READER.pod)
    snapshot.refresh_pod(later, "a")
    seen.append(usage.revision("ml"))
    assert any(pod is later for pod in usage.pods("ml"))
    snapshot.remove_pod(later, "a")
    seen.append(usage.revision("ml"))
    with snapshot.trial():
        snapshot.remove_pod(TRAINER, "a")
        assert [*usage.pods("ml")] == [TRAINER]
    snapshot.remove_pod(SHELL, "ghost")

    assert len({*seen}) == len(seen)
    assert usage.revision("ml") == seen[-1]
    assert [*usage.pods("dev")] == []
