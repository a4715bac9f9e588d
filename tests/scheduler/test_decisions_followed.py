"""The consequences of a decision are carried out if it is acted on, and not after a mere query."""

from muster.framework.contract import (
    CycleState,
    DecisionFollower,
    PodDecision,
    PreEnqueuePlugin,
    PreFilterPlugin,
    Status,
)
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.explain import explain
from muster.framework.snapshot.view import NodeView
from tests.builders import make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.scripted import filtering

WEB = "default/web"


class Bookkeeper(DecisionFollower, PreEnqueuePlugin, PreFilterPlugin):
    """Hands a note from PreFilter on to the follower, and keeps what it was called with."""

    name = "Bookkeeper"
    books: list[str]

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return Status.unresolvable("not yet") if "gated" in pod.labels else None

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        state.write(self.name, f"looked at {len(nodes)}")
        return None

    def on_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        self.books.append(f"{pod.name} is {'in' if status is None else 'kept out'}")

    def on_pod_decision(self, decision: PodDecision) -> None:
        status = "placed on " + decision.node_name if decision.status is None else decision.status.message
        self.books.append(f"{decision.pod.name}, {decision.state.read(self.name, str)}: {status}")


def bookkeeper() -> type[Bookkeeper]:
    return type("Bookkeeper", (Bookkeeper,), {"books": []})


async def test_a_follower_hears_of_each_decision_once_with_the_notes_of_the_attempt(set_stage: SetStage) -> None:
    plugin = bookkeeper()
    stage = set_stage(plugin)
    stage.put_pod(make_pod("web"))
    await stage.settle()

    assert plugin.books == ["web is in", "web, looked at 1: placed on one"]


async def test_a_follower_receives_the_reasons_of_rejected_and_gated_pods(set_stage: SetStage) -> None:
    plugin = bookkeeper()
    stage = set_stage(plugin, filtering("Picky", {"one": Status.unschedulable("wrong")}))
    stage.put_pod(make_pod("web"), make_pod("late").labels(gated="yes"))
    await stage.settle()

    refused = "web, looked at 1: 0/1 nodes are available: 1 wrong."
    assert [*dict.fromkeys(plugin.books)] == ["web is in", "late is kept out", refused]


async def test_asking_for_an_explanation_is_no_decision(set_stage: SetStage) -> None:
    plugin = bookkeeper()
    stage = set_stage(plugin)
    stage.put_pod(make_pod("web"))
    await stage.settle()
    reported = list(plugin.books)
    pod = stage.engine.known.get(WEB)
    assert pod is not None

    for _ in range(1000):
        explain(stage.engine.algorithms["muster"], pod)

    assert plugin.books == reported


async def test_a_failing_follower_does_not_affect_decisions(set_stage: SetStage) -> None:
    class Broken(DecisionFollower):
        name = "Broken"

        def on_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
            raise RuntimeError("a bug")

        def on_pod_decision(self, decision: PodDecision) -> None:
            raise RuntimeError("a bug")

    stage = set_stage(Broken)
    stage.put_pod(make_pod("web"))
    await stage.settle()
    assert stage.binds == [(WEB, "one")]
