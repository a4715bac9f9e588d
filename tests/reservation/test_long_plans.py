"""A plan among very many pods is made in steps, none of which grows with how many end or how many kinds wait."""

from collections.abc import Iterator
from functools import partial
from typing import cast

import numpy as np
import pytest

from muster.framework.contract import PreemptionHandle
from muster.plugins.reservation.ends import ExpectedEnd
from muster.plugins.reservation.packing import Amounts, EventualCapacity, Need, pack
from muster.plugins.reservation.placement_request import PlacementRequest
from muster.plugins.reservation.plan import CapacityTimeline, plan
from muster.plugins.reservation.planning import plan_for
from muster.plugins.resources.fit import NodeResourcesFit
from muster.testing.cluster import Cluster, info
from muster.testing.slices import slices_of
from tests.builders import make_node, make_pod
from tests.reservation.timelines import CAPACITY, NODES, NOW

_ENDINGS = 1024
_AT_ONCE = 256


class Read(Iterator[ExpectedEnd]):
    """Endings, and how many of them were read."""

    def __init__(self, endings: list[ExpectedEnd]) -> None:
        self._rest = iter(endings)
        self.count = 0

    def __next__(self) -> ExpectedEnd:
        found = next(self._rest)
        self.count += 1
        return found


def test_a_step_reads_some_of_the_pods_that_end() -> None:
    cluster = Cluster(*(make_node(f"n{number}", cpu="4") for number in range(NODES)))
    # A plan for a pod by itself asks its handle for nothing that only preemption has.
    handle = cast("PreemptionHandle", cluster.plugin(NodeResourcesFit).handle)
    endings = []
    for number in range(_ENDINGS):
        pod = make_pod(f"running-{number}").requests(cpu="15m").node(f"n{number % NODES}")
        cluster.place(f"n{number % NODES}", pod)
        endings.append(ExpectedEnd(info(pod), f"n{number % NODES}", 1.0 + number))
    large = info(make_pod("large").requests(cpu="3"))

    read, before, counts = Read(endings), 0, []
    wanted = PlacementRequest(large.key, [large], [None])
    for _ in slices_of(partial(plan_for, wanted, read, (), handle, now=NOW)):
        counts.append(read.count - before)
        before = read.count
    assert (sum(counts), max(counts)) == (_ENDINGS, _AT_ONCE)
    [capacity] = plan_for(PlacementRequest(large.key, [large], [None]), endings, (), handle, now=NOW).reserved
    assert capacity.start == 1.0 + NODES * 189  # of 256 pods of 15m there, 67 may stay beside 3 of 4 cores


def test_a_step_tries_one_kind_of_member_at_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    moments, at = list[float](), CapacityTimeline.at

    def noted(timeline: CapacityTimeline, moment: float) -> Amounts:
        moments.append(moment)
        return at(timeline, moment)

    monkeypatch.setattr(CapacityTimeline, "at", noted)
    size = CAPACITY * _ENDINGS
    timeline = CapacityTimeline(
        np.zeros((1, 1), np.int64),
        np.arange(1.0, 1.0 + _ENDINGS),
        np.zeros(_ENDINGS, np.intp),
        np.full((_ENDINGS, 1), CAPACITY),
        EventualCapacity(np.zeros((1, 1), np.int64), np.zeros((1, 1), np.int64), np.zeros(1, np.bool_)),
    )
    kinds = [Need(np.array([size // 4]), 1, np.array([True])) for _ in range(3)]
    tried = [len(moments) for _ in slices_of(partial(plan, timeline, kinds, NOW))]
    assert max(np.diff(tried, prepend=0)) == 1
    assert len(moments) == 1 + 10  # when all have ended, then by halves
    assert len([*slices_of(partial(pack, timeline.at(np.inf), kinds))]) == len(kinds)
