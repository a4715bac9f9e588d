"""Every call of a plugin while pods are scheduled goes through here, to be guarded, timed and reported.

Whatever a plugin raises, and an answer of a type that its point does not know, becomes an ERROR that names the plugin
and the point in kube-scheduler's words. So a plugin's bug costs the pod its attempt and never the loop. A call that
takes too long cannot be stopped, but it is named: afterwards in the log, and while it runs by `PluginCalls.current`,
which another thread may look at.
"""

from __future__ import annotations

import asyncio
import logging
import types
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..contract.cycle_state import CycleState
from ..contract.observer import Observer
from ..contract.plugin import Plugin, PodGroupPostFilterPlugin, PreFilterResult
from ..contract.pod_group import PodGroupInfo, PodGroupTrial, Steps
from ..contract.status import SKIP, Code, Status, text_of
from ..contract.verdicts import Verdicts
from ..model.pod_info import PodInfo

log = logging.getLogger(__name__)

SLOW_SECONDS = 0.1
"""A call that takes longer is named in the log."""
_QUIET_SECONDS = 10.0
"""How long a plugin is not named again at the same point."""


@dataclass(frozen=True, eq=False)
class Point:
    """An extension point.

    Attributes:
        name: as in metrics.
        words: what stands in front of an error there; `{}` is the plugin's name.
        codes: what a plugin may answer besides success and a rejection. Any other code is an error.
        answers: the types of answers besides None.
        rejects: whether a plugin may turn the pod away there.
    """

    name: str
    words: str
    codes: Collection[Code] = ()
    answers: tuple[type, ...] = (Status,)
    rejects: bool = True

    @cached_property
    def skips(self) -> bool:
        """Whether a plugin may say that it has nothing to do there."""
        return Code.SKIP in self.codes


CONCERNS = Point("Concerns", 'asking plugin "{}" whether the pod concerns it', (), (bool,))
PRE_ENQUEUE = Point("PreEnqueue", 'running PreEnqueue plugin "{}"')
PRE_FILTER = Point("PreFilter", 'running PreFilter plugin "{}"', (Code.SKIP,), (Status, PreFilterResult))
ADD_POD = Point("PreFilterExtensionAddPod", 'running AddPod on PreFilter plugin "{}"', rejects=False)
REMOVE_POD = Point("PreFilterExtensionRemovePod", 'running RemovePod on PreFilter plugin "{}"', rejects=False)
FILTER = Point("Filter", 'running "{}" filter plugin', (), (Verdicts,))
FILTER_WORK = Point(FILTER.name, FILTER.words, (), (tuple,))
CAPACITY = Point("Capacity", 'running Capacity of filter plugin "{}"', (), (np.ndarray,))
POST_FILTER = Point("PostFilter", 'running PostFilter plugin "{}"', (), (tuple,))
POD_GROUP_POST_FILTER = Point("PodGroupPostFilter", 'running PodGroupPostFilter plugin "{}"', (), (tuple,))
PRE_SCORE = Point("PreScore", 'running PreScore plugin "{}"', (Code.SKIP,))
SCORE = Point("Score", 'running Score plugins: plugin "{}" failed with', (), (object,))
PLACEMENT_SCORE = Point("PlacementScore", 'running PlacementScore plugins: plugin "{}" failed with', (), (np.ndarray,))
NORMALIZE = Point("NormalizeScore", 'running Normalize on Score plugins: plugin "{}" failed with', (), (object,))
RESERVE = Point("Reserve", 'running Reserve plugin "{}"')
UNRESERVE = Point("Unreserve", 'running Unreserve plugin "{}"')
PERMIT = Point("Permit", 'running Permit plugin "{}"', (Code.WAIT,), (tuple,))
PRE_BIND_PRE_FLIGHT = Point("PreBindPreFlight", 'running PreBindPreFlight "{}"', (Code.SKIP,))
PRE_BIND = Point("PreBind", 'running PreBind plugin "{}"')
BIND = Point("Bind", 'running Bind plugin "{}"', (Code.SKIP,))
POST_BIND = Point("PostBind", 'running PostBind plugin "{}"')
FOLLOW = Point("Follow", 'telling plugin "{}"', (), (object,))


class PluginError(Exception):
    """What a plugin did wrong, with its name and point in front. The plugin's own exception is the cause."""


Running = tuple[Plugin, Point, PodInfo, float]
"""A call under way: who is asked, at which point, about which pod, and since when, seconds on the engine's clock."""


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

    __slots__ = ("_observer", "_profile", "_watch", "now")

    def __init__(self, profile: str, now: Callable[[], float], observer: Observer, watch: Watch) -> None:
        self._profile = profile
        self._observer = observer
        self._watch = watch
        self.now = now

    def call(
        self, point: Point, plugin: Plugin, pod: PodInfo, sampled: bool, method: Callable[..., Any], *args: Any
    ) -> Any:
        """What `method` of the plugin answers; an ERROR status when it breaks. Success is None.

        `sampled` says whether the time of the call goes into metrics.
        """
        watch = self._watch
        outer, began = watch.current, self.now()
        watch.current = plugin, point, pod, began
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
            self._tell_if_slow(point, plugin, pod, seconds)
        return answer

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

    def call_in_steps(
        self, point: Point, plugin: Plugin, pod: PodInfo, sampled: bool, method: Callable[..., Any], *args: Any
    ) -> Steps[Any]:
        """The same for what may take long: the plugin may answer steps, which may be given up."""
        began = self.now()

        def steps() -> Steps[object]:
            answer = method(*args)
            if isinstance(answer, Generator):
                answer = yield from answer
            return None if answer is None else checked(point, plugin, answer)

        ended = yield from self._in_steps(point, plugin, pod, steps(), may_be_closed=True)
        answer = ended if isinstance(ended, Status) else ended[0]
        if sampled:
            self._executed(point, plugin, answer, self.now() - began)
        return answer

    def help_group(
        self, plugin: PodGroupPostFilterPlugin, state: CycleState, group: PodGroupInfo, trial: PodGroupTrial
    ) -> Steps[tuple[Mapping[str, str] | None, Status | None]]:
        """What PodGroupPostFilter answers in the end; each of its steps is guarded and timed. What breaks is logged."""
        pod = group.members[0]

        def steps() -> Steps[object]:
            return (yield from plugin.pod_group_post_filter(state, group, trial))

        ended = yield from self._in_steps(POD_GROUP_POST_FILTER, plugin, pod, steps(), may_be_closed=True)
        found = (None, ended) if isinstance(ended, Status) else pod_group_post_filtered(plugin, ended[0])
        self.log_failure(plugin, pod, found[1])
        return found

    def work_out(
        self, plugin: Plugin, state: CycleState, pod: PodInfo, left: Steps[bool], *, may_be_closed: bool
    ) -> Steps[None]:
        """Do what a Filter has left to do; each of its steps is guarded and timed."""
        yield may_be_closed
        ended = yield from self._in_steps(FILTER_WORK, plugin, pod, left, may_be_closed=may_be_closed)
        state.long_work.gave_up = ended != (True,)
        self.log_failure(plugin, pod, ended)

    def _in_steps(
        self, point: Point, plugin: Plugin, pod: PodInfo, steps: Steps[Any], *, may_be_closed: bool
    ) -> Steps[tuple[Any] | Status]:
        """Each step as a call. What they answer in the end, as the one element of a tuple, or an ERROR status."""

        def step() -> tuple[Any] | None:
            try:
                next(steps)
            except StopIteration as end:
                return (end.value,)
            return None

        ended: tuple[Any] | Status | None = self.call(point, plugin, pod, False, step)
        while ended is None:
            try:
                yield may_be_closed
            except GeneratorExit:
                self.undo(point, plugin, pod, False, steps.close)
                raise
            ended = self.call(point, plugin, pod, False, step)
        return ended

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

    def tell(self, plugin: Plugin, pod: PodInfo, method: Callable[..., object], *args: object) -> None:
        """Tell a plugin something that it can change nothing about any more; what it raises is logged."""
        self.log_failure(plugin, pod, self.call(FOLLOW, plugin, pod, False, method, *args))

    def tell_in_steps(self, plugin: Plugin, pod: PodInfo, method: Callable[..., object], *args: object) -> Steps[None]:
        """The same for what may take long: the plugin may answer steps."""
        answer = self.call(FOLLOW, plugin, pod, False, method, *args)
        if isinstance(answer, Generator):
            answer = yield from self._in_steps(FOLLOW, plugin, pod, answer, may_be_closed=False)
        self.log_failure(plugin, pod, answer)

    def undo(
        self, point: Point, plugin: Plugin, pod: PodInfo, sampled: bool, method: Callable[..., Any], *args: Any
    ) -> None:
        """Call a method that must not fail; if it does, that is logged."""
        self.log_failure(plugin, pod, self.call(point, plugin, pod, sampled, method, *args))

    def evaluated(self, plugins: tuple[str, ...], point: Point) -> None:
        """These plugins had their say at `point`."""
        self._observer.plugins_evaluated(plugins, point=point.name, profile=self._profile)

    def point_ended(self, point: Point, status: Status | None, since: float) -> None:
        """An extension point that began at `since` has ended with `status`."""
        self._observer.extension_point(point.name, _code(status), profile=self._profile, seconds=self.now() - since)

    def _executed(self, point: Point, plugin: Plugin, answer: object, seconds: float) -> None:
        code = _code(answer if isinstance(answer, Status) else None)
        self._observer.plugin_execution(plugin.name, point=point.name, status=code, seconds=seconds)

    def _tell_if_slow(self, point: Point, plugin: Plugin, pod: PodInfo, seconds: float) -> None:
        if seconds <= SLOW_SECONDS:
            return
        self._observer.plugin_slow(plugin.name, point=point.name, seconds=seconds)
        now, which = self.now(), (plugin.name, point.name)
        if now - self._watch.named.get(which, -_QUIET_SECONDS) >= _QUIET_SECONDS:
            self._watch.named[which] = now
            pairs = {"plugin": plugin.name, "point": point.name, "pod": pod.key, "seconds": f"{seconds:.3f}"}
            log.warning("A plugin held up the scheduler", extra={"pairs": pairs})

    def log_failure(self, plugin: Plugin, pod: PodInfo, answer: object) -> None:
        if isinstance(answer, Status) and answer.code is Code.ERROR:
            pairs = {"pod": pod.key, "plugin": plugin.name}
            log.error(answer.message, extra={"pairs": pairs}, exc_info=answer.error)


class Failed(Exception):
    """Ends an extension point at a plugin's ERROR, `status`."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


def failure(point: Point, plugin: Plugin, error: BaseException) -> Status:
    """The ERROR for an exception that a plugin raised."""
    told = PluginError(f"{point.words.format(plugin.name)}: {text_of(error)}")
    told.__cause__ = error
    return Status(Code.ERROR, (), plugin.name, told)


def judged(point: Point, plugin: Plugin, status: Status) -> Status | None:
    """A plugin's status as it counts: None for success, an ERROR in kube-scheduler's words for no answer at all."""
    code = status.code
    if code is Code.SUCCESS:
        return None
    if code in point.codes:
        return status if code is Code.SKIP else status.by(plugin.name)
    if status.rejected and point.rejects:
        return status.by(plugin.name)
    return error_in(point.words.format(plugin.name), status.by(plugin.name))


def error_in(context: str, status: Status) -> Status:
    """An ERROR with the text of `status` behind `context`, by the same plugin."""
    text = f"{context}: {status.message}"
    if status.error is None:
        return Status(Code.ERROR, (text,), status.plugin)
    told = PluginError(text)
    told.__cause__ = status.error
    return Status(Code.ERROR, (), status.plugin, told)


def checked(point: Point, plugin: Plugin, answer: object) -> object:
    """An answer as it counts. Raises TypeError for one of a type that has no meaning at the point."""
    if not isinstance(answer, point.answers):
        raise TypeError(
            f"it answered {type(answer).__name__}, not {' or '.join(each.__name__ for each in point.answers)}"
        )
    return judged(point, plugin, answer) if isinstance(answer, Status) else answer


def _ending() -> bool:
    """Whether the running task, or the loop, is being ended."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return True
    return task is None or task.cancelling() > 0


def _code(status: Status | None) -> Code:
    return Code.SUCCESS if status is None else status.code


def post_filtered(plugin: Plugin, answer: object) -> tuple[str | None, Status | None]:
    """`(nominated node, status)`, as PostFilter answers it."""
    match answer:
        case Status():
            return None, answer
        case (None | str() as node_name, None | Status() as status):
            return node_name, status and status.by(plugin.name)
    return None, failure(POST_FILTER, plugin, TypeError("it is not a node's name or None, and a Status or None"))


def pod_group_post_filtered(plugin: Plugin, answer: object) -> tuple[Mapping[str, str] | None, Status | None]:
    """`(node by UID, status)`, as PodGroupPostFilter answers it."""
    match answer:
        case Status():
            return pod_group_post_filtered(plugin, (None, answer))
        case (None | Mapping() as promised, None | Status() as status):
            if promised is None or all(isinstance(each, str) for pair in promised.items() for each in pair):
                if status is None or status.code is Code.SUCCESS:  # whose reasons say what is done
                    return promised, status
                return promised, judged(POD_GROUP_POST_FILTER, plugin, status)
    wrong = TypeError("it is not nodes by UID or None, and a Status or None")
    return None, failure(POD_GROUP_POST_FILTER, plugin, wrong)


def permitted(plugin: Plugin, answer: object) -> tuple[Status | None, float]:
    """`(status, seconds)`, as Permit answers it."""
    match answer:
        case Status():
            return answer, 0.0
        case (None | Status() as status, int() | float() as seconds):
            return status and judged(PERMIT, plugin, status), float(seconds)
    return failure(PERMIT, plugin, TypeError("it is not a Status or None, and seconds")), 0.0


def not_cleared(status: Status) -> Status:
    """What becomes of a pre-flight answer that is neither success nor SKIP."""
    if status.code is Code.ERROR:
        return status
    wrong = f'PreBindPreFlight {status.plugin} returned "{status.code.wire_name}", which is unsupported'
    return Status.failure(f"{wrong}. It is supposed to return Success, Skip, or Error status").by(status.plugin)
