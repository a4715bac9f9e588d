"""Every method of the contract, broken in every way: others are scheduled, nothing is lost, plugin and point are named.

The methods are found by looking at the contract, so one that is added fails here until it has its case.
"""

import asyncio
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import import_module
from itertools import repeat
from typing import Any

import numpy as np
import pytest

from muster.framework import authoring, contract
from muster.framework.config import ConfigurationError
from muster.framework.contract import (
    Code,
    Disruption,
    EvictionLimit,
    EvictionRule,
    GroupDecision,
    NodeView,
    Part,
    Plugin,
    PodDecision,
    PodGroupInfo,
    PodInfo,
    PreFilterResult,
    QueuedPod,
    Status,
    StatusTable,
    Topology,
    Verdicts,
    Wait,
)
from muster.framework.scheduler.explain import explain
from muster.framework.snapshot.snapshot import Snapshot
from muster.testing.cluster import info
from tests.builders import make_node, make_pod
from tests.security.conforming_plugin import Conforming, OneByOne, World, member

VICTIM = "victim"
Answer = Callable[["Call"], Any]


class Unspeakable(Exception):
    """An exception that raises when it is printed or inspected."""

    def __str__(self) -> str:
        raise SystemExit("no words")


class Foreign(BaseException):
    """What no `except Exception` sees."""


@dataclass(frozen=True)
class Call:
    """A call of a method: what it was given, and how to have the right answer."""

    args: tuple[Any, ...]
    well: Callable[[], Any]

    def nodes(self) -> int:
        """How many numbers are asked for, where they are."""
        sized = [each for each in self.args if isinstance(each, NodeView | np.ndarray)]
        return len(sized[0]) if sized else 3


def raising(error: BaseException | type[BaseException]) -> Answer:
    def fail(call: Call) -> Any:
        raise error

    return fail


def recursing(call: Call) -> Any:
    return recursing(call)


def half_way(call: Call) -> Iterator[bool]:
    yield True
    raise RuntimeError("half-way")


def writing(call: Call) -> Any:
    """Clears whatever it was given that can be, then answers well."""
    for given in call.args:
        for each in (given, *(getattr(given, name, None) for name in ("codes", "labels", "members"))):
            with suppress(TypeError, ValueError):
                each[:] = 0 if isinstance(each, np.ndarray) else []
            if isinstance(each, dict | set):
                each.clear()
    return call.well()


RAISES: dict[str, Answer] = {
    "raises": raising(RuntimeError("a bug")),
    "raises what is no Exception": raising(Foreign("foreign")),
    "is cancelled": raising(asyncio.CancelledError("gone")),
    "exits": raising(SystemExit(3)),
    "stops an iteration": raising(StopIteration),
    "raises what cannot be reported": raising(Unspeakable()),
    "raises a megabyte": raising(RuntimeError("x" * (1 << 20))),
    "never comes back from itself": recursing,
}
ANSWERS: dict[str, Answer] = {
    "answers None": lambda call: None,
    "answers what is of no type": lambda call: object(),
    "answers a text": lambda call: "no",
    "answers a number out of range": lambda call: 10**30,
    "answers no number": lambda call: float("nan"),
    "answers too many numbers": lambda call: np.zeros(call.nodes() + 1, np.int64),
    "answers what are no numbers": lambda call: np.full(call.nodes(), np.nan),
    "answers numbers out of bounds": lambda call: np.full(call.nodes(), -(10**15)),
    "answers a code of nowhere": lambda call: Status(Code.WAIT, ("wait",)),
    "answers a status of nothing": lambda call: Status(2, ([],), "", "none"),  # type: ignore[arg-type]
    "answers an error that cannot be reported": lambda call: Status.failure(error=Unspeakable()),
    "answers steps that break": half_way,
    "answers endless pairs": lambda call: zip(repeat(1), repeat(2), strict=True),
}
WRITES: dict[str, Answer] = {"writes to what it was given": writing}

NOTHING = frozenset[str]()
NO_ANSWER = frozenset(ANSWERS)
"""For methods that are notified: their return value is not used."""
ABSENT = frozenset({"answers None"})
TEXT = frozenset({"answers a text"})
NAN = frozenset({"answers no number"})
FAILS = frozenset({"answers an error that cannot be reported"})


# Who comes.


def alone(name: str = VICTIM, **labels: str) -> Callable[[World], None]:
    return lambda world: (world.add(make_pod(name).requests(cpu="500m").labels(labels)), None)[1]


def apart(world: World) -> None:
    """A pod in a namespace of its own."""
    world.add(make_pod(VICTIM, namespace="of-victims").requests(cpu="500m"))


def group(name: str = "victims", *, cpu: str = "500m") -> Callable[[World], None]:
    def come(world: World) -> None:
        world.add(*(member(f"{name}-{part}", name, part, cpu=cpu) for part in "ab"))

    return come


def too_large(name: str = "victims") -> Callable[[World], None]:
    """A group of which one member fits on no node."""

    def come(world: World) -> None:
        world.add(member(f"{name}-a", name, "a"), member(f"{name}-b", name, "b", cpu="100"))

    return come


def late_half(world: World) -> None:
    """A group that has its quorum, in one zone, and a member that comes later."""
    group("rack-victims")(world)
    world.add(member("rack-victims-c", "rack-victims", "c"))


def fillers(world: World) -> None:
    """Every node is full of pods that may be evicted, and one that may evict them comes."""
    for zone in "xyz":
        world.add(make_pod(f"victim-{zone}").requests(cpu="5").priority(0).node(f"node-{zone}"))
    world.add(make_pod("victim").requests(cpu="5").priority(10))


def widget(world: World) -> None:
    world.api.put("widgets", {"metadata": {"name": "victim", "namespace": "default"}})


def unreported(world: World) -> None:
    world.unreported.add(f"default/{VICTIM}")
    alone()(world)


def unlike_others(world: World) -> None:
    world.add(make_pod(VICTIM).requests(cpu="333m"))


def asked(world: World) -> None:
    """A user asks what would become of a pod."""
    found = explain(world.engine.algorithms["muster"], info(make_pod(VICTIM).requests(cpu="500m")))
    world.events.append((VICTIM, "Explained", str(found.planned)))


def reported(world: World) -> None:
    """A user reads how much is reserved, and the starts of waiting pods and groups."""
    world.events.append((VICTIM, "Reserved", f"{world.engine.reserved_shares()} {world.engine.starts()}"))


def claimed(world: World) -> None:
    """A claim asks whether what is known of running groups still holds."""
    world.events.append((VICTIM, "Known", str(world.engine.units.epoch())))


BY_ITSELF = alone()


@dataclass(frozen=True)
class Case:
    """A method's case.

    Attributes:
        says: what the report says, besides the plugin's name.
        come: what the method is called about.
        legal: the ways of breaking in which the answer is one of those that the contract knows.
        more: answers that are wrong in ways of their own.
        awaits: whether it is a coroutine.
        given: how many of its arguments say which object it is about.
        plugin: which plugin has it.
        method: its name there.
    """

    says: str
    come: Callable[[World], None] = BY_ITSELF
    legal: frozenset[str] = NOTHING
    more: Mapping[str, Answer] = field(default_factory=dict)
    awaits: bool = False
    given: int | None = None
    plugin: type[Plugin] = Conforming
    method: str = ""


def of_group(method: str, come: Callable[[World], None], **more: Any) -> Case:
    return Case(f'running {method} on group plugin "Conforming"', come, **more)


FOLLOWS = 'notifying plugin "Conforming"'
NAMED_NODES: Answer = lambda call: PreFilterResult([["node-x"]])  # type: ignore[arg-type]  # noqa: E731
ENDLESS_TREE = Part("victims", 1, (), parts=[])
ENDLESS_TREE.parts.append(ENDLESS_TREE)  # type: ignore[union-attr]
NO_TABLE: Mapping[str, Answer] = {
    "has numbers that its table lacks": lambda call: Verdicts(np.full(call.nodes(), 9, np.int32), StatusTable()),
    "has numbers below 0": lambda call: Verdicts(np.full(call.nodes(), -1, np.int32), StatusTable()),
    "has no table": lambda call: Verdicts(np.zeros(call.nodes(), np.int32), None),  # type: ignore[arg-type]
    "has verdicts that are no numbers": lambda call: Verdicts(np.full(call.nodes(), np.nan), StatusTable()),
}
NO_TOPOLOGY: Mapping[str, Answer] = {
    "requires more than there is": lambda call: Topology(("zone",), 7),
    "has levels that are none": lambda call: Topology(None, 1),  # type: ignore[arg-type]
    "has slices of less than nobody": lambda call: Topology(("zone",), 1, slice_size=-1),
}
REJECTS = {"answers success": lambda call: Status(Code.SUCCESS)}
PAIRS: Mapping[str, Answer] = {
    "answers a pair of nothing": lambda call: (object(), object()),
    "answers a pair with a code of nowhere": lambda call: (None, Status(Code.WAIT)),
}

WAITS: Mapping[str, Answer] = {
    "answers a wait of no length": lambda call: Wait(float("nan")),
    "answers a wait of endless length": lambda call: Wait(10**400),
    "answers a wait for nothing that is a time": lambda call: Wait("long"),  # type: ignore[arg-type]  # as foreign code may
    "answers a wait for what is no text": lambda call: Wait(1.0, (7,)),  # type: ignore[arg-type]  # as foreign code may
    "answers what only the engine says": lambda call: Status.wait("a while"),
    "answers a status and a time": lambda call: (None, 0.0),
}

CASES: dict[str, Case] = {
    "BindPlugin.bind": Case('running Bind plugin "Conforming"', unreported, legal=ABSENT, awaits=True),
    "CapacityPlugin.capacity": Case('running Capacity of filter plugin "Conforming"', too_large()),
    "CapacityReserver.reserved_shares": Case(
        'asking plugin "Conforming" how much it reserves',
        reported,
        more={"answers no numbers": lambda call: {"cpu": "x"}},
    ),
    "StartForecaster.starts": Case('asking plugin "Conforming" when those that wait start', reported),
    "DecisionFollower.on_group_decision": Case(FOLLOWS, group(), legal=NO_ANSWER - {"answers steps that break"}),
    "DecisionFollower.on_pod_decision": Case(FOLLOWS, legal=NO_ANSWER - {"answers steps that break"}),
    "DecisionFollower.on_pod_released": Case(FOLLOWS, alone(refused="yes"), legal=NO_ANSWER),
    "DecisionFollower.on_pre_enqueue": Case(FOLLOWS, legal=NO_ANSWER),
    "DisruptionPlugin.disruption": Case(
        'running Disruption plugin "Conforming"',
        fillers,
        legal=ABSENT,
        more={"names pods that are none": lambda call: Disruption("g", ["victim"], 0, 0)},  # type: ignore[list-item]
    ),
    "DisruptionPlugin.disruption_epoch": Case(
        'running DisruptionEpoch on Disruption plugin "Conforming"',
        claimed,
        legal=frozenset(ANSWERS) - {name for name in ANSWERS if "numbers" in name} - {"answers a status of nothing"},
    ),
    "EventRegistration.hint": Case('running QueueingHintFn of plugin "Conforming"', alone(picky="yes"), method="hint"),
    "EvictionLimit.protected_until": Case(
        'running EvictionLimit plugin "Conforming"', fillers, method="protected_until"
    ),
    "EvictionLimitPlugin.eviction_limit": Case(
        'running EvictionLimit plugin "Conforming"',
        alone(picky="yes"),
        legal=ABSENT,
        more={
            "begins at no moment": lambda call: EvictionLimit(float("nan")),
            "begins never": lambda call: EvictionLimit(float("inf")),
            "begins after all dates": lambda call: EvictionLimit(1e15),
            "begins for no reason": lambda call: EvictionLimit(1.0, None),  # type: ignore[arg-type]
        },
    ),
    "EvictionRulePlugin.eviction_rule": Case(
        'running EvictionRule plugin "Conforming"',
        alone(picky="yes"),
        legal=ABSENT,
        more={
            "names pods in no set": lambda call: EvictionRule(0, claimable=["victim"]),  # type: ignore[arg-type]
            "reclaims by a word": lambda call: EvictionRule(0, reclaims="yes"),  # type: ignore[arg-type]
            "limits by a word": lambda call: EvictionRule(0, limit="later"),  # type: ignore[arg-type]
            "limits from no moment on": lambda call: EvictionRule(0, limit=EvictionLimit(float("nan"))),
        },
    ),
    "EvictionRulePlugin.may_claim": Case(
        'asking plugin "Conforming" whether pods may claim capacity back', group(cpu="100")
    ),
    "FilterPlugin.accepts_with_fewer_pods": Case(
        'running AcceptsWithFewerPods on filter plugin "OneByOne"', fillers, plugin=OneByOne
    ),
    "FilterPlugin.filter": Case('running "Conforming" filter plugin', more=NO_TABLE),
    "FilterPlugin.filter_epoch": Case(
        'running FilterEpoch on filter plugin "Conforming"',
        legal=frozenset(ANSWERS) - {name for name in ANSWERS if "numbers" in name} - {"answers a status of nothing"},
    ),
    "GroupPlugin.fault": of_group("Fault", group(), legal=ABSENT | TEXT),
    "GroupPlugin.group_of": of_group("GroupOf", group(), legal=ABSENT | TEXT),
    "GroupPlugin.may_preempt": of_group("MayPreempt", too_large()),
    "GroupPlugin.missing": of_group("Missing", group()),
    "GroupPlugin.part_of": of_group("PartOf", group("tree-victims"), legal=TEXT),
    "GroupPlugin.placed_members": of_group("PlacedMembers", late_half, legal=frozenset({"answers nothing"})),
    "GroupPlugin.preemption_priority": of_group("PreemptionPriority", too_large()),
    "GroupPlugin.preempts_as": of_group("PreemptsAs", too_large(), legal=ABSENT | TEXT),
    "GroupPlugin.priority": of_group("Priority", group(), legal=ABSENT),
    "GroupPlugin.reject_group": of_group("RejectGroup", too_large(), legal=FAILS, more=REJECTS),
    "GroupPlugin.reject_member": of_group("RejectMember", too_large(), legal=FAILS, more=REJECTS),
    "GroupPlugin.reject_part": of_group("RejectPart", too_large("tree-victims"), legal=FAILS, more=REJECTS),
    "GroupPlugin.reject_trial": of_group("RejectTrial", too_large(), legal=FAILS, more=REJECTS),
    "GroupPlugin.topology": of_group("Topology", group("rack-victims"), legal=ABSENT, more=NO_TOPOLOGY),
    "GroupPlugin.tree": of_group(
        "Tree", group("tree-victims"), legal=ABSENT, more={"has itself among its parts": lambda call: ENDLESS_TREE}
    ),
    "GroupPlugin.uid": of_group("UID", too_large(), legal=TEXT),
    "ObjectFollower.on_object": Case(FOLLOWS, widget, legal=NO_ANSWER),
    "PerNodeFilter.filter_node": Case('running "OneByOne" filter plugin', legal=ABSENT, plugin=OneByOne),
    "PerNodeScore.score_node": Case('Score plugins: plugin "OneByOne"', plugin=OneByOne),
    "PermitPlugin.permit": Case('running Permit plugin "Conforming"', legal=ABSENT, more=WAITS),
    "PlacementScorePlugin.score_placements": Case(
        'running PlacementScore plugins: plugin "Conforming" failed with', group("rack-victims"), given=1
    ),
    "Plugin.concerns": Case('asking plugin "Conforming" whether the pod concerns it', unlike_others, legal=ABSENT),
    "PodFollower.on_assumed_pod_expired": Case(FOLLOWS, unreported, legal=NO_ANSWER),
    "PodFollower.on_pod": Case(FOLLOWS, legal=NO_ANSWER),
    "PodGroupPostFilterPlugin.pod_group_post_filter": Case(
        'error in "Conforming" PodGroupPostFilter plugins', too_large(), more=PAIRS
    ),
    "PostBindPlugin.post_bind": Case('running PostBind plugin "Conforming"', legal=ABSENT),
    "PostFilterPlugin.post_filter": Case('running PostFilter plugin "Conforming"', alone(picky="yes"), more=PAIRS),
    "PreBindPlugin.planned": Case('running Planned on PreBind plugin "Conforming"', asked),
    "PreBindPlugin.pre_bind": Case('running PreBind plugin "Conforming"', legal=ABSENT, awaits=True),
    "PreBindPlugin.pre_bind_pre_flight": Case('PreBindPreFlight "Conforming"', legal=ABSENT),
    "PreEnqueuePlugin.pre_enqueue": Case('running PreEnqueue plugin "Conforming"', legal=ABSENT),
    "PreFilterExtensions.add_pod": Case(
        'running AddPod on PreFilter plugin "Conforming"', fillers, legal=ABSENT, given=2
    ),
    "PreFilterExtensions.remove_pod": Case(
        'running RemovePod on PreFilter plugin "Conforming"', fillers, legal=ABSENT, given=2
    ),
    "PreFilterPlugin.pre_filter": Case(
        'running PreFilter plugin "Conforming"', legal=ABSENT, more={"names nodes that are none": NAMED_NODES}
    ),
    "PreScorePlugin.pre_score": Case('running PreScore plugin "Conforming"', legal=ABSENT),
    "QueueSortPlugin.sort_key": Case('running QueueSort plugin "Conforming"'),
    "ReservePlugin.reserve": Case('running Reserve plugin "Conforming"', legal=ABSENT),
    "ReservePlugin.unreserve": Case('running Unreserve plugin "Conforming"', alone(refused="yes"), legal=ABSENT),
    "ScorePlugin.normalize_score": Case('Score plugins: plugin "Conforming"'),
    "ScorePlugin.score": Case('Score plugins: plugin "Conforming"'),
    "ScorePlugin.score_epoch": Case(
        'running ScoreEpoch on score plugin "Conforming"',
        legal=frozenset(ANSWERS) - {name for name in ANSWERS if "numbers" in name} - {"answers a status of nothing"},
    ),
    "TenantOrderPlugin.tenant_of": Case('asking plugin "Conforming" for the tenant of a namespace', apart, legal=TEXT),
    "TenantOrderPlugin.tenants_moved": Case(
        'asking plugin "Conforming" whose turn may have changed',
        legal=ABSENT | TEXT,
        more={"names what is no text": lambda call: [7]},
    ),
    "TenantOrderPlugin.turn_of": Case(
        'asking plugin "Conforming" for the turn of a tenant', more={"has no order": lambda call: (float("nan"),)}
    ),
    "LongWork.left": Case('running "Conforming" filter plugin', alone(long="yes"), legal=ABSENT, method="left"),
}
AT_START = {"Plugin.__init__", "EnqueueExtensions.events_to_register"}
"""These are called when the scheduler starts, which it does not where one of them breaks."""


def contract_methods() -> set[str]:
    """Each method that plugins implement, by the class that has it first, and each function that they give."""
    found: set[str] = {"EvictionLimit.protected_until", "LongWork.left"}
    inert = (module.name for module in pkgutil.iter_modules(contract.__path__, f"{contract.__name__}."))
    for module in (*inert, authoring.__name__):
        for name, kind in vars(import_module(module)).items():
            if not inspect.isclass(kind) or kind.__module__ != module:
                continue
            if issubclass(kind, Plugin):
                found |= {_first(kind, each) for each, value in vars(kind).items() if _is_method(each, value)}
            elif is_dataclass(kind):
                found |= {f"{name}.{each.name}" for each in fields(kind) if "HintFunction" in str(each.type)}
    return found


def _is_method(name: str, value: object) -> bool:
    return inspect.isfunction(value) and (name == "__init__" or not name.startswith("_"))


def _first(kind: type[Plugin], method: str) -> str:
    return next(
        f"{each.__name__}.{method}"
        for each in reversed(kind.__mro__)
        if issubclass(each, Plugin) and method in vars(each)
    )


def test_every_method_of_the_contract_has_its_case() -> None:
    assert contract_methods() == CASES.keys() | AT_START


def concerns_victim(plugin: Any, args: Sequence[Any]) -> bool:
    return not args or any(_is_victim(plugin, each) for each in args)


def _is_victim(plugin: Any, given: Any) -> bool:
    match given:
        case PodInfo():
            return VICTIM in given.name
        case QueuedPod():
            return VICTIM in given.info.name
        case str():
            return VICTIM in given
        case Status():
            return VICTIM in given.message
        case Part() | PodGroupInfo():
            return VICTIM in given.key
        case PodDecision():
            return VICTIM in given.pod.name
        case GroupDecision():
            return VICTIM in given.group
        case list() | tuple():
            return any(_is_victim(plugin, each) for each in given)
        case Snapshot():
            return plugin.about is not None and VICTIM in plugin.about.name
    return VICTIM in getattr(getattr(given, "metadata", None), "name", "")


class Rogues:
    """Makes a plugin that is broken in one method and way, when it is asked about a victim, until it is `mended`."""

    def __init__(self, case: Case, name: str, answer: Answer) -> None:
        self.calls = 0
        self.mended = False
        self._case = case
        self._method = case.method or name.rpartition(".")[2]
        self._answer = answer

    def plugin(self) -> type[Plugin]:
        well, rogues = getattr(self._case.plugin, self._method), self

        def broken(plugin: Any, *args: Any, **named: Any) -> Any:
            if rogues.mended or not concerns_victim(plugin, args[: rogues._case.given]):
                return well(plugin, *args, **named)
            rogues.calls += 1
            return rogues._answer(Call(args, lambda: well(plugin, *args, **named)))

        async def awaited(plugin: Any, *args: Any) -> Any:
            found = broken(plugin, *args)
            return await found if inspect.iscoroutine(found) else found

        methods = {self._method: awaited if self._case.awaits else broken, "crowded": True}
        return type(self._case.plugin.__name__, (self._case.plugin,), methods)


WAYS = [
    pytest.param(name, way, answer, id=f"{name} {way}")
    for name, case in CASES.items()
    for way, answer in {**RAISES, **ANSWERS, **WRITES, **case.more}.items()
]


async def play(world: World, case: Case) -> None:
    """Victims come between others, something happens that may help them, and time passes."""
    world.add(make_pod("other").requests(cpu="250m"))
    group("fine", cpu="250m")(world)
    case.come(world)
    group("rack-fine", cpu="250m")(world)
    group("tree-fine", cpu="250m")(world)
    world.add(make_pod("later").requests(cpu="250m"))
    await world.settle()
    world.api.change("nodes", "node-x", lambda node: node["metadata"]["labels"].update(colour="red"))
    await world.run(40)
    world.engine.pod_handler.expire(world.clock.now())
    world.add(make_pod("last").requests(cpu="250m"))
    group("last", cpu="250m")(world)
    await world.settle()


async def make_room(world: World) -> None:
    """All waiting pods can be placed, bindings that the API never reported are seen again, and time passes."""
    world.unreported.clear()
    for key in [key for key in world.api.pods if key.endswith(("victim-x", "victim-y"))]:
        world.delete(key)
    world.add_nodes(make_node("large", cpu="1000").labels(zone="x"))
    for key in world.api.pods:
        world.api.change("pods", key, lambda pod: pod["metadata"].setdefault("labels", {}).update(seen="again"))
    await world.run(340)


@pytest.mark.parametrize(("name", "way", "answer"), WAYS)
async def test_others_are_scheduled_nothing_is_lost_and_plugin_and_point_are_named(
    name: str, way: str, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context))
    case = CASES[name]
    rogues = Rogues(case, name, answer)
    plugins = {plugin.name: plugin for plugin in (Conforming, OneByOne, rogues.plugin())}
    world = World(*plugins.values())
    await play(world, case)

    others = {key for key in world.api.pods if VICTIM not in key}
    assert {key for key in others if world.node_of(key)} == others
    assert all(world.place(key) for key in world.api.pods if key not in world.unreported)
    assert rogues.calls, "nobody asked"
    messages = [*(note for _, _, note in world.events), *(message for _, message, _ in world.conditions.values())]
    if way in RAISES or way in case.more or (way in ANSWERS and way not in case.legal):
        assert any(case.says in text for text in (*messages, caplog.text)), messages
    assert all(len(text) < 20_000 for text in messages)

    rogues.mended = True
    plugins["Conforming"].crowded = False  # type: ignore[attr-defined]
    await make_room(world)
    assert {key: world.place(key) for key in world.api.pods if not world.node_of(key)} == {}
    world.check()
    assert failures == []
    await world.kill()


@pytest.mark.parametrize("way", RAISES)
@pytest.mark.parametrize("name", sorted(AT_START))
async def test_a_scheduler_does_not_start_with_a_plugin_that_breaks_then(name: str, way: str) -> None:
    method = name.rpartition(".")[2]

    def broken(plugin: Any, *args: Any) -> Any:
        return RAISES[way](Call(args, lambda: None))

    plugin = type("Conforming", (Conforming,), {method: broken})
    with pytest.raises(ConfigurationError, match=f'plugin "Conforming" failed in {method}'):
        World(plugin)


@pytest.mark.parametrize("way", ANSWERS)
async def test_a_scheduler_does_not_start_without_knowing_which_events_concern_a_plugin(way: str) -> None:
    plugin = type(
        "Conforming",
        (Conforming,),
        {"events_to_register": lambda self: ANSWERS[way](Call((), lambda: None))},
    )
    with pytest.raises(ConfigurationError, match='plugin "Conforming" failed in events_to_register'):
        World(plugin)
