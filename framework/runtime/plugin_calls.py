"""Every call of a plugin during scheduling goes through here, to be guarded, timed and reported.

Whatever a plugin raises, and an answer that is not legal at its point, becomes an ERROR that names the plugin and the
point in kube-scheduler's words. A plugin's bug therefore costs the pod its attempt and never stops the loop. A call
that passes checkpoints ends at one of them when it has used up its budget. Any other slow call cannot be stopped, but
it is named; see `call_watch`.
"""

from __future__ import annotations

import asyncio
import logging
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from functools import partial
from typing import Any, TypeVar

from ..contract.events import Hint, HintFunction
from ..contract.group_preemption import PodGroupInfo, PodGroupTrial
from ..contract.plugin import Plugin, PodGroupPostFilterPlugin, PostFilterPlugin, Wait
from ..contract.status import SKIP, Code, Status
from ..contract.verdicts import Diagnosis
from ..error_log import ErrorLog
from ..metrics import SchedulerMetrics
from ..model.pod_info import PodInfo
from ..work import Aborted
from .answers import Failed, checked, failure, of_type, pod_group_post_filtered, post_filtered
from .attempt_state import AttemptState
from .call_watch import SLOW_SECONDS, CallWatch, Running
from .points import FILTER_WORK, FOLLOW, POD_GROUP_POST_FILTER, POST_FILTER, QUEUEING_HINT, Point
from .subjects import GroupSubject, MembersSubject, Subject, pair_of

log = logging.getLogger(__name__)
T = TypeVar("T")


class PluginCalls:
    """The calls of one profile's plugins.

    Attributes:
        now: seconds on the engine's clock.
    """

    __slots__ = ("_call_watch", "_errors", "_hints", "_metrics", "_profile", "now")

    def __init__(
        self, profile: str, now: Callable[[], float], metrics: SchedulerMetrics, call_watch: CallWatch
    ) -> None:
        self._profile = profile
        self._metrics = metrics
        self._call_watch = call_watch
        self._errors = ErrorLog(log, now)
        self._hints: dict[HintFunction, HintFunction] = {}
        self.now = now

    def call(
        self,
        point: Point,
        plugin: Plugin,
        about: Subject,
        method: Callable[..., Any],
        *args: Any,
        sampled: bool = False,
        sound: Callable[[Any], object] | None = None,
    ) -> Any:
        """The answer of the plugin's `method`; an ERROR status when it breaks. Success is None.

        `sampled` says whether the time of the call goes into metrics. With `sound`, which checks and converts the
        answer or raises what is wrong, the answer comes as a tuple of what `sound` made of it.
        """
        watch = self._call_watch
        outer, paused, began = watch.current, watch.paused, self.now()
        running = watch.current = Running(plugin, point, about, began)
        try:
            answer = method(*args)
            if sound is not None:
                answer = (sound(answer),)
            elif answer is not None and (answer is not SKIP or not point.skips):
                answer = checked(point, plugin, answer)
        except (KeyboardInterrupt, Aborted):
            watch.current = outer
            watch.close(running, outer)
            raise
        except BaseException as error:
            answer = failure(point, plugin, error)
        watch.current = outer
        if watch.accounts:
            watch.close(running, outer)
        now = self.now()
        if sampled:
            self._executed(point, plugin, answer, now - began - (watch.paused - paused))
        if now - began > SLOW_SECONDS:
            watch.ended(running, now)
        return answer

    def ask(
        self,
        point: Point,
        plugin: Plugin,
        about: Subject,
        method: Callable[..., Any],
        *args: Any,
        sound: Callable[[Any], T],
    ) -> T:
        """The answer of `method` where None is no success. `sound` checks and converts it, or raises what is wrong.

        Raises Failed when the plugin breaks.
        """
        answer = self.call(point, plugin, about, method, *args, sound=sound)
        if isinstance(answer, Status):
            raise Failed(answer) from answer.error
        found: T = answer[0]
        return found

    def hint(self, plugin: Plugin, hint: HintFunction) -> HintFunction:
        """The hint, guarded: it raises Failed when it breaks, and the queue reports that. One object for each hint."""

        def asked(pod: PodInfo, old: Any, new: Any) -> Hint:
            return self.ask(QUEUEING_HINT, plugin, pod, hint, pod, old, new, sound=_as_hint)

        return self._hints.setdefault(hint, asked)

    async def call_async(
        self,
        point: Point,
        plugin: Plugin,
        pod: PodInfo,
        method: Callable[..., Awaitable[Any]],
        *args: Any,
        sampled: bool,
    ) -> Status | None:
        """The answer of an `async` method. Only a cancellation of the task that runs it is let through."""
        began = self.now()
        try:
            answer = await self._watched(Running(plugin, point, pod, began), method(*args))
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

    def post_filter_pod(
        self, plugin: PostFilterPlugin, state: AttemptState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[str | None, Status | None]:
        """The answer of PostFilter."""
        sound = partial(post_filtered, plugin)
        answer = self.call(
            POST_FILTER, plugin, pod, plugin.post_filter, state, pod, diagnosis, sampled=state.sampled, sound=sound
        )
        found: tuple[str | None, Status | None] = (None, answer) if isinstance(answer, Status) else answer[0]
        return found

    def post_filter_group(
        self, plugin: PodGroupPostFilterPlugin, state: AttemptState, group: PodGroupInfo, trial: PodGroupTrial
    ) -> tuple[Mapping[str, str] | None, Status | None]:
        """The answer of PodGroupPostFilter. A plugin that breaks is logged."""
        about = MembersSubject(GroupSubject(group.key), group.members)
        sound, ask = partial(pod_group_post_filtered, plugin), plugin.pod_group_post_filter
        answer = self.call(POD_GROUP_POST_FILTER, plugin, about, ask, state, group, trial, sound=sound)
        found = (None, answer) if isinstance(answer, Status) else answer[0]
        self.log_failure(POD_GROUP_POST_FILTER, plugin, about, found[1])
        return found

    def finish_long_work(self, plugin: Plugin, state: AttemptState, pod: PodInfo, left: Callable[[], bool]) -> None:
        """Do what a Filter has left to do."""
        answer = self.call(FILTER_WORK, plugin, pod, left)
        state.long_work.gave_up = answer is not True
        self.log_failure(FILTER_WORK, plugin, pod, answer)

    @types.coroutine
    def _watched(self, running: Running, work: Awaitable[Any]) -> Generator[Any, Any, Any]:
        """Await it, and note what runs while it does."""
        steps = work.__await__()
        thrown: BaseException | None = None
        while True:
            outer = self._call_watch.current
            part = self._call_watch.current = running._replace(since=self.now())
            try:
                awaited = next(steps) if thrown is None else steps.throw(thrown)
            except StopIteration as end:
                return end.value
            finally:
                self._call_watch.current = outer
                self._call_watch.ended(part, self.now())
            try:
                thrown = None
                yield awaited
            except BaseException as error:
                thrown = error

    def notify(self, plugin: Plugin, about: Subject, method: Callable[..., object], *args: object) -> None:
        """Notify a plugin of something that its answer cannot change; an exception is logged."""
        answer = self.call(FOLLOW, plugin, about, method, *args)
        if answer is None:
            return
        if isinstance(answer, (Generator, Coroutine)):
            answer.close()
            answer = failure(FOLLOW, plugin, TypeError(f"it answered a {type(answer).__name__}, which nobody runs"))
        self.log_failure(FOLLOW, plugin, about, answer)

    def undo(
        self,
        point: Point,
        plugin: Plugin,
        about: Subject,
        method: Callable[..., Any],
        *args: Any,
        sampled: bool = False,
    ) -> None:
        """Call a method that must not fail; if it does, that is logged."""
        answer = self.call(point, plugin, about, method, *args, sampled=sampled)
        if answer is not None:
            self.log_failure(point, plugin, about, answer)

    def evaluated(self, plugins: tuple[str, ...], point: Point) -> None:
        """These plugins have answered at `point`."""
        self._metrics.plugin_evaluations.add_each(plugins, (point.name, self._profile))

    def point_ended(self, point: Point, status: Status | None, since: float) -> None:
        """An extension point that began at `since` has ended with `status`."""
        code = Code.SUCCESS if status is None else status.code
        self._metrics.extension_point_duration.observe((point.name, code.wire_name, self._profile), self.now() - since)

    def _executed(self, point: Point, plugin: Plugin, answer: object, seconds: float) -> None:
        code = answer.code if isinstance(answer, Status) else Code.WAIT if isinstance(answer, Wait) else Code.SUCCESS
        self._metrics.plugin_execution_duration.observe((plugin.name, point.name, code.wire_name), seconds)

    def log_failure(self, point: Point, plugin: Plugin, about: Subject, answer: object) -> None:
        """Log an ERROR that fails no pod, once in a while for each plugin and point."""
        if isinstance(answer, Status) and answer.code is Code.ERROR:
            pairs = {**pair_of(about), "plugin": plugin.name}
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
