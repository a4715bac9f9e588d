"""Healing of a tree of groups, one of whose parts has lost a pod."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from muster.framework.groups.healing import HEALING_POLICY
from muster.framework.model.meta import from_plain
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.operator.kube.client import ApiClient
from muster.operator.podgroups.annotation_faults import AnnotationFaults
from muster.operator.podgroups.healing import Healer
from muster.operator.podgroups.worker import WorkerPorts
from muster.plugins.coscheduling.kind import POD_GROUP_KIND
from muster.plugins.gangscheduling.api import NativePodGroup
from muster.plugins.gangscheduling.book import NativePodGroups
from muster.plugins.gangscheduling.composite_api import CompositePodGroup
from muster.plugins.gangscheduling.kind import NATIVE_POD_GROUP_KIND, NativePodGroupKind
from tests.clocks import SettlingClock
from tests.coscheduling.controller.groups import Recorder
from tests.coscheduling.controller.test_healing import Evictions, watch
from tests.gangscheduling.world import make_composite, make_group, make_members

PODS = {"leader": 1, "workers": 2, "spare": 2}
RESTART = {"muster-scheduler.io/healing-policy": "Restart"}
ALL: Mapping[str, Any] = {"disruptionMode": {"all": {}}}


class Stage:
    """A healer and a tree, all of which is bound: `job` consists of `leader` and of `inner`, that of the others.

    `policies` are annotations of the groups by their names, `specs` more fields of the composites' specs.
    """

    def __init__(
        self,
        *,
        needed: Mapping[str, int],
        policies: Mapping[str, Mapping[str, str]],
        specs: Mapping[str, Mapping[str, Any]] = {},
    ) -> None:
        self.clock, self.client, self.recorder = SettlingClock(), Evictions(), Recorder()
        self.groups = NativePodGroups(self.clock)
        ports = WorkerPorts(cast("ApiClient", self.client), self.recorder, self.clock, leading=lambda: True)
        self.ended = watch(self.client, self.clock, self.groups, NATIVE_POD_GROUP_KIND.named_by)
        self.healer = Healer(self.groups, NATIVE_POD_GROUP_KIND, ports, self.ended)
        self.pods: dict[str, PodInfo] = {}
        for name, count in PODS.items():
            body = make_group(name, count, parentCompositePodGroupName="job" if name == "leader" else "inner")
            body["metadata"]["annotations"] = dict(policies.get(name, {}))
            self.groups.follow_group(f"default/{name}", from_plain(body, NativePodGroup))
            for pod in make_members(name, count):
                pod["metadata"]["uid"] = f"uid-{pod['metadata']['name']}"
                info = PodInfo(from_plain(pod.node("one"), Pod))
                self.pods[info.name] = info
                self.groups.follow_pod(None, info)
        self._needed, self._specs = needed, specs
        for name in ("inner", "job"):
            self.composite(name, policies.get(name, {}))

    def composite(self, name: str, annotations: Mapping[str, str]) -> None:
        """A composite comes, or changes."""
        parent = {"parentCompositePodGroupName": "job"} if name == "inner" else {}
        body = make_composite(name, self._needed[name], **parent, **self._specs.get(name, {}))
        body["metadata"]["annotations"] = dict(annotations)
        self.groups.follow_composite(f"default/{name}", from_plain(body, CompositePodGroup))

    @asynccontextmanager
    async def healing(self) -> AsyncIterator[None]:
        """The healer is at work."""
        following = asyncio.create_task(self.ended.run())
        self.healer.start()
        yield
        following.cancel()
        await self.healer.stop()

    def lose(self, name: str) -> None:
        """A pod is deleted."""
        self.groups.follow_pod(self.pods[name], None)

    async def evicted_when(self, lost: str) -> set[str]:
        """Who is evicted when this pod is lost for good."""
        async with self.healing():
            self.lose(lost)
            await self.clock.advance(5)
        return {*self.client.evicted}


TREE = {"leader-0", "workers-0", "workers-1", "spare-0", "spare-1"}


@pytest.mark.parametrize(
    ("needed", "specs", "lost", "evicted"),
    [
        ({"job": 1, "inner": 1}, {}, "workers-0", {"workers-1"}),
        ({"job": 1, "inner": 2}, {}, "workers-0", {"workers-1", "spare-0", "spare-1"}),
        ({"job": 2, "inner": 1}, {}, "workers-0", {"workers-1"}),
        ({"job": 2, "inner": 2}, {}, "workers-0", TREE - {"workers-0"}),
        ({"job": 2, "inner": 1}, {}, "leader-0", TREE - {"leader-0"}),
        ({"job": 1, "inner": 1}, {"job": ALL}, "workers-0", TREE - {"workers-0"}),
        ({"job": 1, "inner": 1}, {"inner": ALL}, "workers-0", {"workers-1", "spare-0", "spare-1"}),
    ],
    ids=[
        "the others are enough",
        "the inner one has too few",
        "the inner one goes on and so does the outer one",
        "both have too few",
        "a part of one pod",
        "the outer one is disrupted as a whole",
        "the inner one is disrupted as a whole",
    ],
)
async def test_a_part_restarts_with_the_parts_that_cannot_continue_without_it(
    needed: Mapping[str, int], specs: Mapping[str, Mapping[str, Any]], lost: str, evicted: set[str]
) -> None:
    part = lost.partition("-")[0]
    assert await Stage(needed=needed, policies={part: RESTART}, specs=specs).evicted_when(lost) == evicted


async def test_a_part_without_a_policy_has_that_of_the_innermost_group_that_has_one() -> None:
    needed = {"job": 1, "inner": 1}
    assert await Stage(needed=needed, policies={"job": RESTART}).evicted_when("workers-0") == {"workers-1"}
    keep = {"muster-scheduler.io/healing-policy": "Keep"}
    assert await Stage(needed=needed, policies={"job": RESTART, "inner": keep}).evicted_when("workers-0") == set()
    assert await Stage(needed=needed, policies={"job": keep, "workers": RESTART}).evicted_when("spare-0") == set()


async def test_a_policy_that_cannot_be_read_is_reported_once_on_its_object_and_leaves_it_to_the_one_above() -> None:
    misspelt = {"muster-scheduler.io/healing-policy": "restart"}
    policies = {"workers": misspelt, "inner": misspelt, "job": RESTART}
    stage = Stage(needed={"job": 1, "inner": 1}, policies=policies)
    ports = WorkerPorts(cast("ApiClient", stage.client), stage.recorder, stage.clock, leading=lambda: True)
    faults = AnnotationFaults(stage.groups, NATIVE_POD_GROUP_KIND, ports)
    faults.start()

    def put(name: str, policy: str) -> None:
        body = make_group(name, PODS[name], parentCompositePodGroupName="inner")
        body["metadata"]["annotations"] = {"muster-scheduler.io/healing-policy": policy}
        stage.groups.follow_group(f"default/{name}", from_plain(body, NativePodGroup))

    def reported() -> list[tuple[str, str, str]]:
        return [(key.regarding.kind, key.regarding.name, key.note) for key in stage.recorder.keys]

    def unsupported(value: str) -> str:
        return (
            f'metadata.annotations[muster-scheduler.io/healing-policy]: Unsupported value: "{value}": '
            'supported values: "Keep", "Restart", "Shrink"'
        )

    stage.composite("inner", policies["inner"])
    put("workers", "restart")
    await stage.clock.advance(5)
    expected = [
        ("CompositePodGroup", "inner", unsupported("restart")),
        ("PodGroup", "workers", unsupported("restart")),
    ]
    assert reported() == expected
    assert stage.recorder.reported()[0][:2] == ("Warning", "InvalidHealingPolicy")
    put("workers", "restart")
    stage.composite("inner", policies["inner"])
    put("workers", "restarts")
    await stage.clock.advance(5)
    assert reported() == [*expected, ("PodGroup", "workers", unsupported("restarts"))]
    stage.recorder.keys.clear()
    put("workers", "Keep")
    put("workers", "restart")
    await stage.clock.advance(5)
    assert reported() == [("PodGroup", "workers", unsupported("restart"))]
    await faults.stop()
    assert await stage.evicted_when("workers-0") == {"workers-1"}


async def test_an_unknown_annotation_under_the_prefix_is_reported_with_the_nearest_known_one() -> None:
    stage = Stage(needed={"job": 1, "inner": 1}, policies={})
    ports = WorkerPorts(cast("ApiClient", stage.client), stage.recorder, stage.clock, leading=lambda: True)

    class Known(NativePodGroupKind):
        annotations = frozenset({HEALING_POLICY, "muster-scheduler.io/required-topology"})

    faults = AnnotationFaults(stage.groups, Known(), ports)
    faults.start()
    body = make_group("workers", PODS["workers"], parentCompositePodGroupName="inner")
    body["metadata"]["annotations"] = {
        "muster-scheduler.io/required-topologyy": "zone",
        "muster-scheduler.io/colour": "blue",
        "example.com/colour": "blue",
    }
    for _ in range(2):
        stage.groups.follow_group("default/workers", from_plain(body, NativePodGroup))
        await stage.clock.advance(5)
    assert stage.recorder.reported() == [
        (
            "Warning",
            "UnknownAnnotation",
            "metadata.annotations[muster-scheduler.io/colour]: unknown annotation: known are "
            "muster-scheduler.io/healing-policy, muster-scheduler.io/required-topology",
        ),
        (
            "Warning",
            "UnknownAnnotation",
            "metadata.annotations[muster-scheduler.io/required-topologyy]: unknown annotation, "
            'did you mean "muster-scheduler.io/required-topology"?',
        ),
    ]
    await faults.stop()


async def test_an_annotation_whose_value_is_ignored_is_reported() -> None:
    stage = Stage(needed={"job": 1, "inner": 1}, policies={})
    ports = WorkerPorts(cast("ApiClient", stage.client), stage.recorder, stage.clock, leading=lambda: True)

    class Judged(NativePodGroupKind):
        annotations = POD_GROUP_KIND.annotations

        def annotation_faults(self, annotations: Mapping[str, str]) -> Sequence[str]:
            return POD_GROUP_KIND.annotation_faults(annotations)

    faults = AnnotationFaults(stage.groups, Judged(), ports)
    faults.start()
    mode = "muster-scheduler.io/disruption-mode"
    body = make_group("workers", PODS["workers"], parentCompositePodGroupName="inner")
    for value in ("Some", "Single"):
        body["metadata"]["annotations"] = {mode: value}
        stage.groups.follow_group("default/workers", from_plain(body, NativePodGroup))
        await stage.clock.advance(5)
    fault = f'metadata.annotations[{mode}]: Unsupported value: "Some": supported values: "All", "Single"'
    assert stage.recorder.reported() == [("Warning", "InvalidAnnotation", fault)]
    await faults.stop()


async def test_each_group_that_restarts_reports_why_and_protected_pods_are_tried_again() -> None:
    stage = Stage(needed={"job": 2, "inner": 1}, policies={"leader": RESTART})
    stage.client.protected = {"spare-1"}
    async with stage.healing():
        stage.lose("leader-0")
        await stage.clock.advance(5)
        assert "spare-1" not in stage.client.evicted
        why = "default/leader lost pods for good, and its tree cannot go on without it: 2 pods are evicted"
        assert [each for each in stage.recorder.reported() if each[1] == "Restarting"] == [
            ("Warning", "Restarting", why),
            ("Warning", "Restarting", why),
            (
                "Warning",
                "Restarting",
                "1 of its pods were lost for good: those of 2 groups that cannot go on without it are evicted, "
                "so that all start anew",
            ),
        ]
        stage.client.protected.clear()
        for name in ("spare-0", "workers-0", "workers-1"):
            stage.lose(name)
        await stage.clock.advance(10)
    assert stage.client.evicted.count("spare-1") == 1
