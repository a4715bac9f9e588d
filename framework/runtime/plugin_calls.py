"""Every call of a plugin while pods are scheduled goes through here, to be guarded, timed and reported.

Whatever a plugin raises, and an answer that means nothing at its point, becomes an ERROR that names the plugin and the
point in kube-scheduler's words. So a plugin's bug costs the pod its attempt and never the loop. Steps end when they
have used up their budget (`step_budgets`). A single call that takes too long cannot be stopped, but it is named:
afterwards in the log, and while it runs by `Watch.current`, which another thread may look at.
"""

from __future__ import annotations

import asyncio
import logging
import types
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from ..contract.cycle_state import CycleState
from ..contract.events import Hint, HintFunction
from ..contract.observer import Observer
from ..contract.plugin import Plugin, PodGroupPostFilterPlugin, PostFilterPlugin
from ..contract.pod_group import PodGroupInfo, PodGroupTrial, Steps
from ..contract.status import SKIP, Code, Status
from ..contract.verdicts import Diagnosis
from ..model.pod_info import PodInfo
from ..queue.hints import ErrorLog
from .answers import Failed, checked, failure, of_type, pod_group_post_filtered, post_filtered
from .points import FILTER_WORK, FOLLOW, POD_GROUP_POST_FILTER, POST_FILTER, QUEUEING_HINT, Point
from .step_budgets import LEAST_STEP_SECONDS, StepBudgets

log = logging.getLogger(__name__)
T = TypeVar("T")

SLOW_SECONDS = 0.1
"""A call that takes longer is named in the log."""
_QUIET_SECONDS = 10.0
"""How long a plugin is not named again at the same point."""


class Subject(Protocol):
    """What a call is about: a pod, or whatever else has a key."""

    @property
    def key(self) -> str:
        """Its name, for people."""
        ...


class Named(NamedTuple):
    """A group, or an object: what a call is about that is about no pod."""

    key: str


ALL_NODES = Named("all nodes")

Running = tuple[Plugin, Point, Subject, float]
"""A call under way: who is asked, at which point, about what, and since when, seconds on the engine's clock."""


@dataclass(slots=True, eq=False)
class Watch:
    """What all profiles' calls share: the call under way, and when each plugin was last said to be slow."""

    current: Running | None = None
    named: dict[tuple[str, str], float] = field(default_factory=dict)


class PluginCalls:
    """The calls of one profile's plugins.

    Attributes:
        now: seconds on the engine's clock.
    """

    __slots__ = ("_budgets", "_errors", "_hints", "_observer", "_profile", "_watch", "now")

    def __init__(self, profile: str, now: Callable[[], float], observer: Observer, watch: Watch) -> None:
        self._profile = profile
        self._observer = observer
        self._watch = watch
        self._errors = ErrorLog(log, now)
        self._budgets = StepBudgets(now)
        self._hints: dict[HintFunction, HintFunction] = {}
        self.now = now

    def call(
        self, point: Point, plugin: Plugin, about: Subject, sampled: bool, method: Callable[..., Any], *args: Any
    ) -> Any:
        """What `method` of the plugin answers; an ERROR status when it breaks. Success is None.

        `sampled` says whether the time of the call goes into metrics.
        """
        watch = self._watch
        outer, began = watch.current, self.now()
        watch.current = plugin, point, about, began
        try:
            answer = method(*args)
            if answer is not None and (answer is not SKIP or not point.skips):
                answer = checked(point, plugin, answer)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            answer = failure(point, plugin, error)
        watch.current = outer
        seconds = self.now() - began
        if sampled:
            self._executed(point, plugin, answer, seconds)
        if seconds > SLOW_SECONDS:
            self._tell_if_slow(point, plugin, about, seconds)
        return answer

    def ask(
        self,
        point: Point,
        plugin: Plugin,
        about: Subject,
        sound: Callable[[Any], T],
        method: Callable[..., Any],
        *args: Any,
    ) -> T:
        """What `method` answers where None is no success. `sound` makes it what counts, or raises what is wrong.

        Raises Failed when the plugin breaks.
        """
        answer = self.call(point, plugin, about, False, lambda: (sound(method(*args)),))
        if isinstance(answer, Status):
            raise Failed(answer) from answer.error
        found: T = answer[0]
        return found

    def hint(self, plugin: Plugin, hint: HintFunction) -> HintFunction:
        """The same hint, which raises Failed when it breaks: the queue tells of it. The same each time for one."""

        def asked(pod: PodInfo, old: Any, new: Any) -> Hint:
            return self.ask(QUEUEING_HINT, plugin, pod, _as_hint, hint, pod, old, new)

        return self._hints.setdefault(hint, asked)

    async def call_async(
        self,
        point: Point,
        plugin: Plugin,
        pod: PodInfo,
        sampled: bool,
        method: Callable[..., Awaitable[Any]],
        *args: Any,
    ) -> Status | None:
        """The same for a method that awaits. Only a cancellation of the task that runs it is let through."""
        began = self.now()
        try:
            answer = await self._watched((plugin, point, pod, began), method(*args))
            if answer is not None:
                answer = checked(point, plugin, answer)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if isinstance(error, (asyncio.CancelledError, GeneratorExit)) and _ending():
                raise
            answer = failure(point, plugin, error)
        if sampled:
            self._executed(point, plugin, answer, self.now() - began)
        return answer if isinstance(answer, Status) else None

    def help_pod(
        self, plugin: PostFilterPlugin, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> Steps[tuple[str | None, Status | None]]:
        """What PostFilter answers in the end; the plugin may answer steps, each of which is guarded and timed."""
        began = self.now()

        def steps() -> Steps[tuple[str | None, Status | None]]:
            answer = plugin.post_filter(state, pod, diagnosis)
            return post_filtered(plugin, (yield from answer) if isinstance(answer, Generator) else answer)

        ended = yield from self._in_steps(POST_FILTER, plugin, pod, steps(), may_be_closed=True)
        if state.sampled:
            self._executed(POST_FILTER, plugin, ended, self.now() - began)
        return (None, ended) if isinstance(ended, Status) else ended[0]

    def help_group(
        self, plugin: PodGroupPostFilterPlugin, state: CycleState, group: PodGroupInfo, trial: PodGroupTrial
    ) -> Steps[tuple[Mapping[str, str] | None, Status | None]]:
        """What PodGroupPostFilter answers in the end; each of its steps is guarded and timed. What breaks is logged."""
        pod = group.members[0]

        def steps() -> Steps[tuple[Mapping[str, str] | None, Status | None]]:
            return pod_group_post_filtered(plugin, (yield from plugin.pod_group_post_filter(state, group, trial)))

        members = len(group.members)
        ended = yield from self._in_steps(POD_GROUP_POST_FILTER, plugin, pod, steps(), members, may_be_closed=True)
        found = (None, ended) if isinstance(ended, Status) else ended[0]
        self.log_failure(POD_GROUP_POST_FILTER, plugin, pod, found[1])
        return found

    def work_out(
        self, plugin: Plugin, state: CycleState, pod: PodInfo, left: Steps[bool], *, may_be_closed: bool
    ) -> Steps[None]:
        """Do what a Filter has left to do; each of its steps is guarded and timed."""
        yield may_be_closed
        ended = yield from self._in_steps(FILTER_WORK, plugin, pod, left, may_be_closed=may_be_closed)
        state.long_work.gave_up = isinstance(ended, Status) or ended[0] is not True
        self.log_failure(FILTER_WORK, plugin, pod, ended)

    def _in_steps(
        self, point: Point, plugin: Plugin, pod: PodInfo, steps: Steps[T], members: int = 0, *, may_be_closed: bool
    ) -> Steps[tuple[T] | Status]:
        """Each step as a call. What they answer in the end, as the one element of a tuple, or an ERROR status.

        The budget is that of the pod, or of a group with so many `members`.
        """
        budget, spent = self._budgets.seconds(point, plugin, pod, members), 0.0

        def step() -> tuple[T] | None:
            try:
                next(steps)
            except StopIteration as end:
                return (end.value,)
            return None

        while True:
            began = self.now()
            ended: tuple[T] | Status | None = self.call(point, plugin, pod, False, step)
            if ended is not None:
                return ended
            spent += max(LEAST_STEP_SECONDS, self.now() - began)
            if spent >= budget:
                self._budgets.exceeded(point, plugin, pod)
                self.undo(point, plugin, pod, False, steps.close)
                return failure(point, plugin, TimeoutError(f"its steps have not come to an end within {budget:.3g} s"))
            try:
                yield may_be_closed
            except GeneratorExit:
                self.undo(point, plugin, pod, False, steps.close)
                raise

    @types.coroutine
    def _watched(self, running: Running, work: Awaitable[Any]) -> Generator[Any, Any, Any]:
        """Await it, and note what runs while it does."""
        plugin, point, pod, _ = running
        steps = work.__await__()
        thrown: BaseException | None = None
        while True:
            outer, began = self._watch.current, self.now()
            self._watch.current = plugin, point, pod, began
            try:
                awaited = next(steps) if thrown is None else steps.throw(thrown)
            except StopIteration as end:
                return end.value
            finally:
                self._watch.current = outer
                self._tell_if_slow(point, plugin, pod, self.now() - began)
            try:
                thrown = None
                yield awaited
            except BaseException as error:
                thrown = error

    def tell(self, plugin: Plugin, about: Subject, method: Callable[..., object], *args: object) -> None:
        """Tell a plugin something that it can change nothing about any more; what it raises is logged."""
        self.undo(FOLLOW, plugin, about, False, method, *args)

    def tell_in_steps(
        self, plugin: Plugin, pod: PodInfo, method: Callable[..., object], *args: object, members: int = 0
    ) -> Steps[None]:
        """The same for what may take long: the plugin may answer steps. `members` are those of the pod's group."""
        answer = self.call(FOLLOW, plugin, pod, False, method, *args)
        if isinstance(answer, Generator):
            answer = yield from self._in_steps(FOLLOW, plugin, pod, answer, members, may_be_closed=False)
        self.log_failure(FOLLOW, plugin, pod, answer)

    def undo(
        self, point: Point, plugin: Plugin, about: Subject, sampled: bool, method: Callable[..., Any], *args: Any
    ) -> None:
        """Call a method that must not fail; if it does, that is logged."""
        self.log_failure(point, plugin, about, self.call(point, plugin, about, sampled, method, *args))

    def evaluated(self, plugins: tuple[str, ...], point: Point) -> None:
        """These plugins had their say at `point`."""
        self._observer.plugins_evaluated(plugins, point=point.name, profile=self._profile)

    def point_ended(self, point: Point, status: Status | None, since: float) -> None:
        """An extension point that began at `since` has ended with `status`."""
        self._observer.extension_point(point.name, _code(status), profile=self._profile, seconds=self.now() - since)

    def _executed(self, point: Point, plugin: Plugin, answer: object, seconds: float) -> None:
        code = _code(answer if isinstance(answer, Status) else None)
        self._observer.plugin_execution(plugin.name, point=point.name, status=code, seconds=seconds)

    def _tell_if_slow(self, point: Point, plugin: Plugin, about: Subject, seconds: float) -> None:
        if seconds <= SLOW_SECONDS:
            return
        self._observer.plugin_slow(plugin.name, point=point.name, seconds=seconds)
        now, which = self.now(), (plugin.name, point.name)
        if now - self._watch.named.get(which, -_QUIET_SECONDS) >= _QUIET_SECONDS:
            self._watch.named[which] = now
            pairs = {"plugin": plugin.name, "point": point.name, "pod": about.key, "seconds": f"{seconds:.3f}"}
            log.warning("A plugin held up the scheduler", extra={"pairs": pairs})

    def log_failure(self, point: Point, plugin: Plugin, about: Subject, answer: object) -> None:
        """Log an ERROR that fails no pod, once in a while for each plugin and point."""
        if isinstance(answer, Status) and answer.code is Code.ERROR:
            pairs = {"pod" if isinstance(about, PodInfo) else "object": about.key, "plugin": plugin.name}
            self._errors.error(answer.message, cause=(plugin.name, point.name), error=answer.error, pairs=pairs)


def _as_hint(answer: object) -> Hint:
    hint: Hint = of_type(answer, Hint)
    return hint


def _ending() -> bool:
    """Whether the running task, or the loop, is being ended."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return True
    return task is None or task.cancelling() > 0


def _code(status: Status | None) -> Code:
    return Code.SUCCESS if status is None else status.code
