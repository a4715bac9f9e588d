"""Where a group does not fit, plugins are asked for help for all of it, in turn, and for none of its pods."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from muster.framework.contract import (
    CycleState,
    Diagnosis,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    PodGroupTrial,
    PodInfo,
    PostFilterPlugin,
    Status,
    checkpoint,
)
from muster.testing import VirtualScheduler
from tests.builders import make_node
from tests.gangscheduling.world import KIND, make_group, make_members

Answer = tuple[Mapping[str, str] | None, Status | None]


class Helper(PodGroupPostFilterPlugin, PostFilterPlugin):
    """Remembers who asked, and what the notes of the group's attempt were."""

    answer = Status.unschedulable("no")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.groups: list[tuple[str, object]] = []
        self.pods: list[str] = []

    def pod_group_post_filter(self, state: CycleState, group: PodGroupInfo, trial: PodGroupTrial) -> Answer:
        self.groups.append((group.key, state.get("note")))
        state.write("note", self.name)
        checkpoint()
        return {}, self.answer

    def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        self.pods.append(pod.name)
        return None, Status.unschedulable()


class First(Helper):
    name = "First"


class Second(Helper):
    name = "Second"
    answer = Status.unresolvable("nobody can")


class Third(Helper):
    name = "Third"


def world_of(plugins: Sequence[type[Helper]]) -> VirtualScheduler:
    enabled = [{"name": plugin.name} for plugin in plugins]
    profile = {
        "schedulerName": "muster",
        "plugins": {"multiPoint": {"enabled": enabled, "disabled": [{"name": "DefaultPreemption"}]}},
    }
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return VirtualScheduler(*plugins, configuration=yaml.safe_dump({**document, "profiles": [profile]}).encode())


async def test_helpers_are_asked_in_turn_until_one_says_more_than_that_it_cannot() -> None:
    world = world_of([First, Second, Third])
    world.add_nodes(make_node("one", cpu="1"))
    world.api.put(KIND, make_group("gang", 2))
    world.add(*make_members("gang", 2))
    await world.settle()
    plugins = world.engine.algorithms["muster"].framework.plugins.plugins
    asked = [plugins[name] for name in ("First", "Second", "Third")]
    found = [(each.groups, each.pods) for each in asked if isinstance(each, Helper)]
    assert found == [([("default/gang", None)], []), ([("default/gang", "First")], []), ([], [])]
    assert world.conditions["default/gang-0"][1].endswith("pod group preemption: no, pod group preemption: nobody can")
    await world.kill()
