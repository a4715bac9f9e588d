"""Extenders in trials, called as the scheduler calls them, with its client and its timeouts, but never to bind.

`why`, `explain`, `simulate` and `muster web` have one `TrialExtenders` and begin an `ExtenderSession` for each answer.
A session repeats no call, so retries in a rehearsal cost extenders nothing. Extenders know the current cluster only:
they are not called about nodes that a trial adds, which count as allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Self, TypeVar

from muster.framework.config import ConfigurationError, KubeSchedulerConfiguration
from muster.framework.contract.extender import Extender, ExtenderError, ExtenderFilterResult, MetaVictims, Victims
from muster.framework.model.node import Node
from muster.framework.model.pod_info import PodInfo
from muster.operator.kube.extender import HttpExtender, Surroundings
from muster.operator.kube.whole import is_sent_nodes

from .whole import TrialObjects

T = TypeVar("T")

_AT_ONCE = 16


class ExtenderSession:
    """The extenders during one trial, with their answers so far.

    Attributes:
        extenders: the extenders that the engine calls.
    """

    def __init__(self, extenders: Iterable[Extender], nodes: Iterable[Node]) -> None:
        """`nodes` are the cluster's. Extenders are called on the running loop, also if another loop awaits them."""
        self._names = frozenset(node.metadata.name for node in nodes)
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._answers: dict[Hashable, Future[Any]] = {}
        self._awaited: list[Future[Any]] = []
        self.extenders: Sequence[Extender] = [_SessionExtender(each, self) for each in extenders]
        self._home = asyncio.get_running_loop() if self.extenders else None

    def exists(self, node_name: str) -> bool:
        """Whether the cluster has the node."""
        return node_name in self._names

    async def ask(self, question: Hashable, put: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The answer to a question; `put` is called only for the first caller. Raises ExtenderError as `put` does."""
        answer = self._answers.get(question)
        if answer is None:
            assert self._home is not None
            answer = self._answers[question] = asyncio.run_coroutine_threadsafe(self._in_turn(put), self._home)
        self._awaited.append(answer)
        try:
            found: T | ExtenderError = await asyncio.shield(asyncio.wrap_future(answer))
        finally:
            self._awaited.remove(answer)
        if isinstance(found, ExtenderError):
            raise found
        return found

    def unanswered(self) -> Sequence[Future[Any]]:
        """The answers that the engine waits for."""
        return self._awaited

    async def _in_turn(self, put: Callable[[], Coroutine[Any, Any, T]]) -> T | ExtenderError:
        """The answer or the error, as a value: a rehearsal may end before it reads the future."""
        async with self._turns:
            try:
                return await put()
            except ExtenderError as error:
                return error


NO_EXTENDERS = ExtenderSession((), ())
"""For a configuration without extenders."""


class _SessionExtender:
    """Implements `contract.Extender` with another extender, whose answers the session keeps."""

    is_binder = False

    def __init__(self, extender: Extender, session: ExtenderSession) -> None:
        self.name = extender.name
        self.weight = extender.weight
        self.ignorable = extender.ignorable
        self.is_filter = extender.is_filter
        self.is_prioritizer = extender.is_prioritizer
        self.supports_preemption = extender.supports_preemption
        self.is_interested = extender.is_interested
        self._extender = extender
        self._session = session

    async def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderFilterResult:
        """See `contract.Extender`."""
        known = [name for name in node_names if self._session.exists(name)]
        added = [name for name in node_names if not self._session.exists(name)]
        if not known:
            return ExtenderFilterResult(added)
        question = (self, "filter", pod.uid, tuple(known))
        found = await self._session.ask(question, lambda: self._extender.filter(pod, known))
        return replace(found, node_names=[*found.node_names, *added])

    async def prioritize(self, pod: PodInfo, node_names: Sequence[str]) -> Mapping[str, int]:
        """See `contract.Extender`."""
        known = [name for name in node_names if self._session.exists(name)]
        if not known:
            return {}
        question = (self, "prioritize", pod.uid, tuple(known))
        return await self._session.ask(question, lambda: self._extender.prioritize(pod, known))

    async def process_preemption(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, MetaVictims]:
        """See `contract.Extender`."""
        known = {name: each for name, each in victims.items() if self._session.exists(name)}
        agreed = {
            name: MetaVictims([victim.uid for victim in each.pods], each.violations)
            for name, each in victims.items()
            if name not in known
        }
        if not known:
            return agreed
        named = tuple((name, tuple(victim.uid for victim in each.pods)) for name, each in sorted(known.items()))
        question = (self, "preempt", pod.uid, named)
        found = await self._session.ask(question, lambda: self._extender.process_preemption(pod, known))
        return {**found, **agreed}

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        """Raises ExtenderError: a trial changes nothing."""
        raise ExtenderError("nothing is bound in a trial")


class TrialExtenders:
    """The extenders of a configuration and the objects sent to them: an async context manager for one event loop.

    Raises ConfigurationError for TLS files that cannot be used.
    """

    def __init__(self, configuration: KubeSchedulerConfiguration, objects: TrialObjects) -> None:
        self._configuration = configuration
        self._objects = objects
        self._stack = AsyncExitStack()
        self._all: list[HttpExtender] = []

    def __bool__(self) -> bool:
        return bool(self._configuration.extenders)

    async def __aenter__(self) -> Self:
        surroundings = Surroundings(objects=self._objects, may_write=lambda: False, before_bind=_nothing)
        paths = {id(each): f"extenders[{index}]" for index, each in enumerate(self._configuration.extenders)}
        try:
            for each in self._configuration.ordered_extenders:
                extender = HttpExtender(each, surroundings, paths[id(each)])
                self._stack.push_async_callback(extender.close)
                self._all.append(extender)
        except ConfigurationError:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def session(self, nodes: Iterable[Node]) -> ExtenderSession:
        """Begin a session about a cluster with these nodes, for a trial on this or another loop.

        Raises ApiError if an extender is sent whole nodes, and these cannot be read.
        """
        if not self:
            return NO_EXTENDERS
        if any(map(is_sent_nodes, self._configuration.extenders)):
            await self._objects.read_nodes()
        return ExtenderSession(self._all, nodes)


async def _nothing(uid: str) -> None:
    """The hook before a binding; a trial binds no pod."""
