"""The replayer: drives another engine with a recording's events, and compares the decisions.

The engine is driven event by event, so that only decisions can differ. If it chooses another node than the recorded
one, the replayer notes the choice and places the pod as recorded: each decision is thus about the recorded cluster, and
no difference is merely the consequence of another one. If the engine places a pod that the recorded one did not, or the
other way round, it can no longer be driven this way: it continues in its own order, while the cluster continues as
recorded.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

from muster.framework.contract import Node, Pod
from muster.framework.embedded.known import KnownObjects
from muster.framework.embedded.loop import VirtualLoop
from muster.framework.embedded.silent import Silent
from muster.framework.groups.record import EndedMember
from muster.framework.runtime.standstill import Standstill
from muster.framework.scheduler.engine import build_engine
from muster.framework.scheduler.node_choice import pick_best
from muster.framework.scheduler.ports import Ports

from .comparison import Comparison, Would, chosen
from .decisions import DecisionListener, name_at, ranking
from .events import (
    Answered,
    Decided,
    Expired,
    Flushed,
    GroupDecided,
    MemberEnded,
    ObjectGone,
    OfObject,
    Stepped,
    TaskWentOn,
    TimerEnded,
)
from .recorder import NODES, PODS
from .surroundings import Bound, RecordedAnswers, ReplayClock, ReplayTasks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from muster.framework.contract import Lister, PodInfo
    from muster.framework.runtime.results import Scored
    from muster.framework.scheduler.node_choice import Choose
    from muster.framework.snapshot.view import NodeView

    from .events import AnyEvent, Decision, MemberEnding
    from .reader import Recording
    from .session import Assembled

Placements = deque[tuple[int, str]]
"""The nodes that a pod was placed on one after another, each with the number of the step."""
_IDLE_SECONDS = 0.5
"""The pause between events during which a diverged engine takes all possible steps; otherwise it takes as many steps as
recorded.
"""


def replay(recording: Recording, assembly: Assembled) -> Comparison:
    """Replay a recording. Raises RecordingError for a broken line, ConfigurationError if a plugin cannot be created."""
    return Replay(recording, assembly).run()


class Replay:
    """The replay of one recording."""

    def __init__(self, recording: Recording, assembly: Assembled) -> None:
        head, answers = recording.head, _Ahead(recording)
        self._recording = recording
        self._clock = ReplayClock(head.at, head.wall)
        self._loop = VirtualLoop(self._clock)
        self._tasks = ReplayTasks(self._loop)
        self._answers = RecordedAnswers(self._loop, self._tasks, answers.bound, answers.calls)
        self._stepped = head.at
        self._listener = _Listener(self._decided, answers.placed)
        self._listers: dict[str, Lister] = {}
        self._engine = build_engine(
            assembly.configuration,
            assembly.profiles,
            assembly.registry,
            Ports(
                clock=self._clock,
                random=Random(head.seed).random,
                choose=Random(head.seed).randrange,
                spawn=self._loop.spawn,
                wake=lambda: None,
                binder=self._answers,
                conditions=Silent(),
                events=lambda name: Silent(),
                listers=self._listers,
                api=self._answers,
                pick=self._listener.pick,
                standstill=Standstill(follow=self._tasks.tasks.follow),
            ),
            assumed_ttl=head.assumed_ttl,
        )
        self._kinds: dict[str, type[Any]] = {PODS: Pod, NODES: Node}
        self._known = {PODS: KnownObjects(self._engine.pod_handler), NODES: KnownObjects(self._engine.node_handler)}
        for kind, handler in self._engine.object_handlers.items():
            self._kinds[kind.resource] = kind.type
            self._listers[kind.resource] = self._known[kind.resource] = KnownObjects(handler)
        self.comparison = Comparison(whole=head.whole, not_followed=sorted(self._kinds.keys() - set(head.kinds)))
        self._listener.follow(self._engine)

    def run(self) -> Comparison:
        """Replay all events."""
        if not self._recording.head.whole:
            self._diverged("what was before its first file is not there")
        for event in self._recording.events():
            if isinstance(event, (Decided, GroupDecided)):
                self._recorded(event)
                continue
            self._compare(all_reported=isinstance(event, Stepped))
            self.comparison.events += 1
            self._let_happen(event)
        self._compare(all_reported=self._recording.ended)
        self._tasks.end()
        return self.comparison

    def _recorded(self, decision: Decision) -> None:
        self.comparison.recorded(decision)
        if isinstance(decision, Decided):
            self._listener.passed(decision)

    def _decided(self, decision: Decision) -> None:
        would = self._listener.would.pop((decision.uid, decision.node), None) if isinstance(decision, Decided) else None
        self.comparison.replayed(decision, would)

    def _compare(self, *, all_reported: bool) -> None:
        """Let the engine continue in its own order if its decisions differ from the recorded ones.

        The recording has a long decision after the events that occurred meanwhile; the replay makes it at once.
        """
        if not self._tasks.free and not self.comparison.same_course(all_reported=all_reported):
            self._go_own_way()

    def _go_own_way(self) -> None:
        self._listener.free = True
        self._tasks.let_all_go_on()

    def _let_happen(self, event: AnyEvent) -> None:
        if not isinstance(event, (Decided, GroupDecided)):
            self._clock.stand_at(event.at)
        self._listener.steps += isinstance(event, Stepped)
        if self._tasks.free:
            self._let_happen_freely(event)
            return
        match event:
            case Flushed():
                self._engine.queue.flush(self._clock.now())
            case Stepped():
                self._engine.scheduler.step()
            case TimerEnded(number=number):
                if not self._clock.go_off(number):
                    self._diverged("a timer that went off is not there")
            case TaskWentOn(number=number):
                if not self._tasks.let_go_on(number):
                    self._diverged("a task that went on does not")
            case Answered():
                if not self._answers.answer(event):
                    self._diverged("no call was waiting for a recorded answer")
            case _:
                self._pass_on(event)

    def _let_happen_freely(self, event: AnyEvent) -> None:
        if isinstance(event, Answered):
            self._answers.answer(event)
        else:
            self._pass_on(event)
        self._clock.move_to(self._clock.now())
        now = self._clock.now()
        idle = now - self._stepped >= _IDLE_SECONDS
        if isinstance(event, (Stepped, Flushed)) or idle:
            self._stepped = now
            self._engine.queue.flush(now)
            while self._engine.scheduler.step() and idle:
                pass
            self._loop.run_ready()

    def _diverged(self, why: str) -> None:
        self.comparison.diverged(why)
        self._go_own_way()

    def _pass_on(self, event: AnyEvent) -> None:
        """Pass an event of the cluster to the engine."""
        if isinstance(event, Expired):
            self._engine.pod_handler.expire(self._clock.now())
        if isinstance(event, MemberEnded):
            handler = self._engine.ended_handlers.get(event.books)
            if handler is not None:
                handler(event.uid, _ended(event.was), _ended(event.now))
        if not isinstance(event, OfObject) or event.kind not in self._kinds:
            return
        obj = msgspec.json.decode(event.object, type=self._kinds[event.kind])
        if isinstance(event, ObjectGone):
            self._known[event.kind].drop(obj.metadata.key)
        else:
            self._known[event.kind].put(obj)


def _ended(ending: MemberEnding | None) -> EndedMember | None:
    return None if ending is None else EndedMember(ending.pod_group, ending.succeeded)


class _Ahead:
    """The facts about a recording that the replay needs in advance.

    Attributes:
        bound: the node to which each pod, by UID, was bound.
        placed: the nodes on which each pod, by UID, was placed, with the steps.
        calls: the number of answers to each call.
    """

    def __init__(self, recording: Recording) -> None:
        self.bound: dict[str, Bound] = {}
        self.placed: defaultdict[str, Placements] = defaultdict(deque)
        self.calls: Counter[str] = Counter()
        steps = 0
        for event in recording.events():
            if isinstance(event, Stepped):
                steps += 1
            elif isinstance(event, Decided) and chosen(event):
                self.placed[event.uid].append((steps, event.node))
            elif isinstance(event, Answered):
                self.calls[event.call] += 1
                verb, _, rest = event.call.partition(" ")
                if verb == "bind" and event.failed is None:
                    uid, _, node = rest.partition(" ")
                    self.bound[uid] = Bound(node, event.at)


class _Listener(DecisionListener):
    """A listener that picks the recorded node for each pod.

    Attributes:
        would: the choice that would have been made, by UID and recorded node.
        steps: the number of steps that the recorded scheduler took.
        free: whether steps may differ from the recorded ones.
    """

    def __init__(self, report: Callable[[Decision], None], placed: Mapping[str, Placements]) -> None:
        super().__init__(report)
        self.would: dict[tuple[str, str], Would] = {}
        self.steps = 0
        self.free = False
        self._placed = placed

    def passed(self, decision: Decided) -> None:
        """Record that a recorded decision was passed."""
        if chosen(decision):
            self._placed[decision.uid].popleft()

    def pick(self, pod: PodInfo, nodes: NodeView, scored: Scored, choose: Choose) -> int:
        """Implement `Ports.pick`."""
        chosen, recorded = pick_best(pod, nodes, scored, choose), self._position(pod, nodes)
        if recorded is None:
            recorded = chosen
        elif scored.totals[recorded] != scored.totals[chosen]:  # equally good nodes do not count as a difference
            self.would[pod.uid, name_at(nodes, recorded)] = Would(name_at(nodes, chosen), ranking(scored, chosen))
        node = name_at(nodes, recorded)
        if recorded == chosen or not self.keeps(pod, node):
            self.keep(pod, node, scored, recorded)  # a trial may have chosen another node among others before or since
        return recorded

    def _position(self, pod: PodInfo, nodes: NodeView) -> int | None:
        """The position of the recorded node among these nodes."""
        placements = self._placed.get(pod.uid)
        if not placements:
            return None
        step, node = placements[0]
        row, rows = nodes.snapshot.live_row_of(node), nodes.indices()
        if row is None or not (self.free or step == self.steps):
            return None
        position = int(rows.searchsorted(row))
        return position if position < len(rows) and rows[position] == row else None
