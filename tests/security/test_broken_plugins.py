"""Every kind of broken plugin at each extension point: no other pod notices, and the pod itself says who and where."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
import yaml

from muster.framework.contract import (
    ALLOW,
    BindPlugin,
    Code,
    CycleState,
    FilterPlugin,
    NodeView,
    PermitPlugin,
    Plugin,
    PodGroupPostFilterPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.contract.plugin import Scores
from muster.framework.model.pod_info import PodInfo
from muster.plugins.queueing.priority_sort import PrioritySort
from muster.testing import VirtualScheduler, configuration_of
from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_group, make_member
from tests.scheduler.stage import Stage

VICTIM, OTHERS = "default/victim", [f"other-{number}" for number in range(4)]
WAITING = ("error backoff", "backoff", "unschedulable", "active")
"""Where a pod may be that no node got."""


class Unspeakable(Exception):
    """An exception that raises when it is printed or inspected."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Foreign(BaseException):
    """What no `except Exception` sees."""


def _raising(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def _recursing() -> Any:
    return _recursing()


async def _later() -> None:
    """A coroutine that was not awaited."""


_forgotten: list[Coroutine[Any, Any, None]] = []


def _forgets() -> Any:
    _forgotten.append(_later())
    return _forgotten[-1]


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Closes what was never awaited: Python would complain of it whenever it happens to collect it."""
    yield
    while _forgotten:
        _forgotten.pop().close()


KINDS: dict[str, Callable[[], Any]] = {
    "raises": _raising(RuntimeError("a bug")),
    "is cancelled": _raising(asyncio.CancelledError("gone")),
    "raises what is no Exception": _raising(Foreign("foreign")),
    "stops an iteration": _raising(StopIteration()),
    "exits": _raising(SystemExit(3)),
    "raises what cannot be reported": _raising(Unspeakable()),
    "never comes back from itself": _recursing,
    "answers a text": lambda: "no",
    "answers a number": lambda: 7,
    "answers what is no number": lambda: np.array([np.nan, np.inf]),
    "answers numbers out of bounds": lambda: np.array([10**9, -(10**9)]),
    "answers a coroutine": _forgets,
    "answers a type": lambda: Status,
    "answers a code of nowhere": lambda: Status(Code.WAIT, ("wait",)),
}

_PASSES = StatusTable()


@dataclass(frozen=True)
class Point:
    """An extension point: what extends it, the method, its answer to pods that are no victim, and what messages say."""

    base: type[Plugin]
    method: str
    well: Callable[[tuple[Any, ...]], Any]
    words: str
    async_: bool = False


def _none(_: tuple[Any, ...]) -> Any:
    return None


POINTS = {
    "preEnqueue": Point(PreEnqueuePlugin, "pre_enqueue", _none, 'PreEnqueue plugin "Rogue"'),
    "queueSort": Point(PrioritySort, "sort_key", _none, "PrioritySort"),
    "preFilter": Point(PreFilterPlugin, "pre_filter", _none, 'PreFilter plugin "Rogue"'),
    "filter": Point(FilterPlugin, "filter", lambda args: Verdicts.all_pass(len(args[2]), _PASSES), '"Rogue" filter'),
    "postFilter": Point(
        PostFilterPlugin, "post_filter", lambda _: (None, Status.unschedulable()), 'PostFilter plugin "Rogue"'
    ),
    "preScore": Point(PreScorePlugin, "pre_score", _none, 'PreScore plugin "Rogue"'),
    "score": Point(ScorePlugin, "score", lambda args: np.zeros(len(args[2]), np.int64), 'plugin "Rogue"'),
    "normalizeScore": Point(ScorePlugin, "normalize_score", lambda args: args[2], 'plugin "Rogue"'),
    "reserve": Point(ReservePlugin, "reserve", _none, 'Reserve plugin "Rogue"'),
    "permit": Point(PermitPlugin, "permit", lambda _: ALLOW, 'Permit plugin "Rogue"'),
    "preBind": Point(PreBindPlugin, "pre_bind", _none, 'PreBind plugin "Rogue"', async_=True),
    "bind": Point(BindPlugin, "bind", lambda _: Status.skip(), 'Bind plugin "Rogue"', async_=True),
    "postBind": Point(PostBindPlugin, "post_bind", _none, "Rogue"),
}

KEEPING_FROM_A_NODE = POINTS.keys() - {"postBind"}


def _victim(args: tuple[Any, ...]) -> bool:
    """Whether a call is about the victim."""
    pods = [each if isinstance(each, PodInfo) else getattr(each, "info", None) for each in args]
    return any(pod is not None and pod.name == "victim" for pod in pods)


class Plain(ScorePlugin):
    """Finds all nodes equal. Without a Score plugin nothing is scored."""

    name = "Plain"

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        return np.zeros(len(nodes), np.int64)


class TooSmall(FilterPlugin):
    """Finds all nodes too small for the victim. Without a rejection there is nothing to rescue."""

    name = "TooSmall"
    table = StatusTable([Status.unschedulable("too small")])

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        return Verdicts(np.full(len(nodes), int(_victim((pod,))), np.int32), self.table)


def rogue(point: Point, kind: Callable[[], Any]) -> type[Plugin]:
    """A plugin that is broken at one point, whenever it is about the victim."""

    def answer(self: Plugin, *args: Any) -> Any:
        return kind() if _victim(args) else point.well(args)

    async def answer_later(self: Plugin, *args: Any) -> Any:
        return answer(self, *args)

    methods: dict[str, Any] = {
        "name": "Rogue",
        "score": lambda self, state, pod, nodes: np.zeros(len(nodes), np.int64),
        "unreserve": lambda self, state, pod, node: None,
        "pre_bind_pre_flight": lambda self, state, pod, node: None,
        point.method: answer_later if point.async_ else answer,
    }
    return type("Rogue", (point.base,), methods)


def set_up(place: str, kind: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> Stage:
    """An engine with a plugin that is broken there, on two nodes."""
    if place == "queueSort":
        well = PrioritySort.sort_key
        monkeypatch.setattr(
            PrioritySort, "sort_key", lambda self, queued: kind() if _victim((queued,)) else well(self, queued)
        )
        stage = Stage()
    else:
        stage = Stage(rogue(POINTS[place], kind), Plain, *([TooSmall] if place == "postFilter" else []))
    stage.put_node(make_node("one"), make_node("two"))
    return stage


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", POINTS)
async def test_no_other_pod_is_lost_or_delayed_and_the_message_names_plugin_and_point(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, place: str, kind: str
) -> None:
    stage = set_up(place, KINDS[kind], monkeypatch)
    stage.put_pod(*map(make_pod, OTHERS[:2]), make_pod("victim"), *map(make_pod, OTHERS[2:]))
    await stage.settle()

    assert {key for key, _ in stage.binds} >= {f"default/{name}" for name in OTHERS}
    reported = [*stage.notes(VICTIM), stage.conditions.get(VICTIM, ("", "", None))[1], caplog.text]
    assert any(POINTS[place].words in text for text in reported), reported

    await stage.wait(30)
    stage.put_pod(make_pod("late"))
    await stage.settle()
    assert "default/late" in {key for key, _ in stage.binds}
    assert stage.place(VICTIM) in (WAITING if place in KEEPING_FROM_A_NODE else ("bound", "assumed"))
    stage.check()
    await stage.close()


@pytest.mark.parametrize("place", sorted(POINTS.keys() - {"preEnqueue", "queueSort"}))
async def test_a_plugin_that_stalls_is_named_while_it_does_and_afterwards(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    seen: list[tuple[str, str]] = []

    def stall() -> Any:
        running = stage.engine.call_watch.current
        assert running is not None
        seen.append((running[0].name, running[2].key))
        stage.clock.move_to(stage.clock.now() + 1.0)
        return POINTS[place].well((None, None, np.zeros(2, np.int64)))

    stage = set_up(place, stall, monkeypatch)
    stage.put_pod(*map(make_pod, OTHERS[:2]), make_pod("victim"), *map(make_pod, OTHERS[2:]))
    await stage.settle()

    assert {key for key, _ in stage.binds} >= {f"default/{name}" for name in OTHERS}
    assert set(seen) == {("Rogue", VICTIM)}
    [line] = [record for record in caplog.records if record.message == "A plugin held up the scheduler"]
    assert (line.pairs["plugin"], line.pairs["pod"]) == ("Rogue", VICTIM)  # type: ignore[attr-defined]
    await stage.close()


def _in_the_middle(kind: Callable[[], Any]) -> Any:
    yield True
    return kind()


@pytest.mark.parametrize("when", ["at once", "in the middle"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_group_that_a_broken_plugin_was_to_help_says_so(when: str, kind: str) -> None:
    begin = KINDS[kind] if when == "at once" else partial(_in_the_middle, KINDS[kind])
    methods = {"name": "Rogue", "pod_group_post_filter": lambda self, state, group, trial: begin()}
    rogue = type("Rogue", (PodGroupPostFilterPlugin,), methods)
    configuration = yaml.safe_load(configuration_of(["Coscheduling", "Rogue"]))
    alone = {"podGroupPostFilter": {"disabled": [{"name": "DefaultPreemption"}]}}
    configuration["profiles"][0]["plugins"].update(alone)
    world = VirtualScheduler(rogue, configuration=yaml.safe_dump(configuration).encode())
    world.add_nodes(make_node("one", cpu="8"))
    world.api.put("podgroups", make_group("gang", 2))
    gang = world.add(*(make_member(f"gang-{number}", "gang", cpu="6") for number in range(2)))
    others = world.add(*map(make_pod, OTHERS))
    await world.settle()

    assert {key for key, _, _ in world.api.bindings} >= set(others)
    words = 'error in "Rogue" PodGroupPostFilter plugins'
    assert all(words in world.conditions[key][1] for key in gang), world.conditions
    world.check()
