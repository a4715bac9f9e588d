"""Log lines about plugins' calls name the subject in a field of its kind."""

from typing import Any, cast
from unittest.mock import Mock

import msgspec
import pytest

from muster.framework.contract import ObjectFollower, WatchedKind
from muster.framework.metrics import SchedulerMetrics
from muster.framework.runtime.call_watch import CallWatch
from muster.framework.runtime.plugin_calls import PluginCalls
from muster.framework.runtime.subjects import (
    ALL_NODES,
    GroupSubject,
    MembersSubject,
    ObjectSubject,
    Subject,
    pair_of,
    pods_of,
)
from muster.framework.scheduler.event_handlers import ObjectEventHandler
from muster.plugins.coscheduling.api import POD_GROUPS, PodGroup
from muster.plugins.gangscheduling.api import POD_GROUPS as NATIVE_POD_GROUPS
from muster.testing.cluster import info
from tests.builders import make_pod
from tests.clocks import ManualClock

WEB = info(make_pod("web"))
TRAIN = msgspec.convert({"metadata": {"namespace": "default", "name": "train"}}, PodGroup)
TREE = "CompositePodGroup/default/job"


@pytest.mark.parametrize(
    ("about", "pair"),
    [
        (WEB, {"pod": "default/web"}),
        (GroupSubject("default/train"), {"podGroup": "default/train"}),
        (GroupSubject(TREE), {"compositePodGroup": "default/job"}),
        (MembersSubject(GroupSubject("default/train"), [WEB]), {"podGroup": "default/train"}),
        (MembersSubject(GroupSubject(TREE), [WEB]), {"compositePodGroup": "default/job"}),
        (ObjectSubject("PodGroup", TRAIN), {"podGroup": "default/train"}),
        (ObjectSubject("CSINode", TRAIN), {"CSINode": "default/train"}),
        (ALL_NODES, {"nodes": "all"}),
    ],
)
def test_each_subject_has_a_field_of_its_kind(about: Subject, pair: dict[str, str]) -> None:
    assert pair_of(about) == pair


def test_a_call_is_about_the_pods_of_its_subject() -> None:
    assert [*pods_of(WEB)] == [WEB]
    assert [*pods_of(MembersSubject(GroupSubject("default/train"), [WEB]))] == [WEB]
    assert [*pods_of(GroupSubject("default/train"))] == []


@pytest.mark.parametrize("kind", [POD_GROUPS, NATIVE_POD_GROUPS])
@pytest.mark.parametrize("change", ["on_add", "on_update", "on_delete"])
def test_a_slow_follower_of_objects_is_logged_with_the_object(
    kind: WatchedKind, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()

    class Slow(ObjectFollower):
        name = "Slow"

        def on_object(self, resource: str, old: object | None, new: object | None) -> None:
            clock.time += 1.0

    metrics = SchedulerMetrics()
    calls = PluginCalls("muster", clock, metrics, CallWatch(clock, metrics))
    handler = ObjectEventHandler(Mock(), kind, [(object.__new__(Slow), calls)])
    report = getattr(handler, change)
    report(*[TRAIN] * (2 if change == "on_update" else 1))
    [line] = caplog.records
    assert line.message == "A plugin held up the scheduler"
    pairs = {"plugin": "Slow", "point": "Follow", "podGroup": "default/train", "seconds": "1.000"}
    assert cast("Any", line).pairs == pairs
