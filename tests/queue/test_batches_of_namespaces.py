"""Where plugins treat namespaces differently, each namespace has its own batches."""

from muster.framework.contract.events import NODE_ADD, EventRegistration
from muster.framework.model.pod_info import PodInfo
from tests.builders import make_pod
from tests.queue.harness import Harness, no_node, pod

FIT = {"Fit": [EventRegistration(NODE_ADD)]}


def backlog(*, divides_namespaces: bool) -> Harness:
    """Four equal pods of two namespaces that Fit rejected; none backs off."""
    harness = Harness(FIT, divides_namespaces=divides_namespaces)
    for info in (of("one", "a"), of("two", "b"), of("one", "c"), of("two", "d")):
        harness.queue.add(info)
        harness.clock.time += 0.001
    entries = [harness.pop() for _ in range(4)]
    for entry in entries:
        harness.fail(entry, no_node("Fit"))
    harness.clock.time += 20
    return harness


def of(namespace: str, name: str) -> PodInfo:
    return pod(make_pod(name, namespace=namespace))


def test_one_of_each_namespace_is_tried() -> None:
    harness = backlog(divides_namespaces=True)
    harness.queue.move_all(NODE_ADD, None, None)

    first = harness.pop()
    harness.fail(first, no_node("Fit"))
    assert [each.info.name for each in first.pods.values()] == ["a"]
    assert harness.drain() == [["b"]]


def test_one_is_tried_for_all_namespaces_that_are_alike() -> None:
    harness = backlog(divides_namespaces=False)
    harness.queue.move_all(NODE_ADD, None, None)

    harness.fail(harness.pop(), no_node("Fit"))
    assert harness.drain() == []


def test_a_changed_pod_leaves_the_batch_of_its_namespace() -> None:
    harness = backlog(divides_namespaces=True)
    before = of("one", "a")
    harness.queue.update(before, pod(make_pod("a", namespace="one").requests(cpu="1")))
    harness.queue.move_all(NODE_ADD, None, None)

    assert sorted(harness.drain()) == [["a"], ["b"], ["c"]]
