"""PrioritySort: the order of the queue."""

from muster.framework.contract.plugin import QueuedPod
from muster.plugins.queueing.priority_sort import PrioritySort
from tests.builders import PodDict, make_pod
from tests.plugins.cluster import Cluster, info


def queued(pod: PodDict, timestamp: float = 0) -> QueuedPod:
    return QueuedPod(info(pod), timestamp=timestamp, first_seen=timestamp)


def order(*pods: QueuedPod) -> list[str]:
    plugin = Cluster().plugin(PrioritySort)
    return [pod.info.name for pod in sorted(pods, key=plugin.sort_key)]


def test_higher_priority_goes_first_however_late_it_came() -> None:
    late, early = queued(make_pod("late").priority(10), 9), queued(make_pod("early"), 1)
    assert order(early, late) == ["late", "early"]


def test_among_equals_the_one_that_has_waited_longer_goes_first() -> None:
    assert order(queued(make_pod("b"), 2), queued(make_pod("a"), 3), queued(make_pod("c"), 1)) == ["c", "b", "a"]


def test_a_pod_without_priority_counts_as_zero() -> None:
    assert order(queued(make_pod("none")), queued(make_pod("below").priority(-1))) == ["none", "below"]


def test_pods_added_at_the_same_moment_have_a_fixed_order() -> None:
    first, second = queued(make_pod("web-0")), queued(make_pod("web-1"))
    assert order(second, first) == order(first, second) == ["web-0", "web-1"]
