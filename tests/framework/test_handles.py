"""The handle of a plugin: trials are for those that derive from `PreemptionPlugin`, with an attempt's state."""

from typing import ClassVar

import numpy as np
import pytest

from muster.framework.contract import (
    CycleState,
    FilterPlugin,
    Handle,
    NodeView,
    PodInfo,
    PreemptionHandle,
    PreemptionPlugin,
    StatusTable,
    Verdicts,
)
from muster.testing import VirtualScheduler, make_node, make_pod


def members(protocol: type) -> set[str]:
    return {name for name in dir(protocol) if not name.startswith("_")}


class Plain(FilterPlugin):
    name = "Plain"

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        return Verdicts.all_pass(len(nodes), StatusTable())


class Trying(Plain, PreemptionPlugin):
    """Asks the other Filter plugins about the nodes with the state that it was given, and with one of its own."""

    name = "Trying"
    passing: ClassVar[list[int]] = []
    errors: ClassVar[list[str]] = []

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        def asked(about: CycleState) -> int:
            found = self.handle.run_filter_plugins_with_nominated_pods(about, pod, nodes, without=[self.name])
            return int(np.count_nonzero(found.passes))

        self.passing.append(asked(state))
        try:
            asked(CycleState())
        except TypeError as error:
            self.errors.append(str(error))
        return super().filter(state, pod, nodes)


@pytest.fixture
def scheduler() -> VirtualScheduler:
    return VirtualScheduler(Plain, Trying)


async def test_only_a_preemption_plugin_gets_a_handle_that_tries_what_would_be(scheduler: VirtualScheduler) -> None:
    [plain] = [plugin for plugin in scheduler.engine.plugins(Plain) if plugin.name == "Plain"]
    [trying] = scheduler.engine.plugins(Trying)
    only_preemption = members(PreemptionHandle) - members(Handle)
    assert {name for name in only_preemption if hasattr(plain.handle, name)} == set()
    assert {name for name in members(PreemptionHandle) if not hasattr(trying.handle, name)} == set()
    await scheduler.kill()


async def test_other_filters_are_asked_with_the_state_of_the_attempt_and_with_no_other(
    scheduler: VirtualScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trying, "passing", [])
    monkeypatch.setattr(Trying, "errors", [])
    scheduler.add_nodes(make_node("small", cpu="1"), make_node("large", cpu="4"))
    [web] = scheduler.add(make_pod("web").requests(cpu="2"))
    await scheduler.run(1)
    assert scheduler.node_of(web) == "large"
    assert Trying.passing
    assert {*Trying.errors} == {"the state is not that of an attempt, nor a clone of one"}
    await scheduler.kill()
