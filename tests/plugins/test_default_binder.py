"""DefaultBinder: the handle's binder decides."""

from muster.framework.contract import CycleState, Status
from muster.framework.model.pod_info import PodInfo
from muster.plugins.binding.default_binder import DefaultBinder
from tests.builders import make_pod
from tests.plugins.cluster import Cluster, info


class RecordingBinder:
    """Gives the answer that a test sets and remembers the requests."""

    def __init__(self, answer: Status | None) -> None:
        self.answer = answer
        self.bound: list[tuple[str, str]] = []

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        self.bound.append((pod.key, node_name))
        return self.answer


async def bind_with(binder: RecordingBinder) -> Status | None:
    plugin = Cluster().plugin(DefaultBinder, binder=binder)
    return await plugin.bind(CycleState(), info(make_pod("web")), "n1")


async def test_the_pod_is_bound_to_the_node() -> None:
    binder = RecordingBinder(None)
    assert await bind_with(binder) is None
    assert binder.bound == [("default/web", "n1")]


async def test_a_failure_is_passed_on() -> None:
    failure = Status.failure("the server said no")
    assert await bind_with(RecordingBinder(failure)) == failure
