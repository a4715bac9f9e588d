"""Follow PodGroups with kopf, for as long as the process lives, whatever happens to kopf or to their definition.

kopf ends as a whole when a watch meets what it does not expect: a definition that was deleted, a right that was taken
away, an error inside a stream. That must never end the scheduler. So PodGroups have a kopf operator of their own beside
the one that runs the process, begun when the API serves PodGroups and begun again whenever it ended:

           served                    kopf began
    ABSENT ──────► (settle) ──► BEGINNING ──────► FOLLOWING
      ▲                                               │
      └───────────── kopf ended; a pause ─────────────┘
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Protocol

import kopf

from muster.operator.kube.client import ApiClient
from muster.operator.kube.errors import ApiError, NotFound
from muster.plugins.coscheduling.model import GROUP, PLURAL, VERSION

from .admission import AdmissionServing, admission_settings, validate_pod_groups
from .settings import economical
from .stored import LIST_PATH

log = logging.getLogger(__name__)

_PAUSE_SECONDS = 5.0
"""Before the next look for the definition, the next start of kopf or its next login."""

_END_SECONDS = 10.0
"""How long kopf may take to end."""


class Follower(Protocol):
    """Who wants to know which PodGroups there are, see `PodGroupController`."""

    def group_seen(self, body: Mapping[str, Any]) -> None:
        """There is this PodGroup, in its JSON form."""
        ...

    def group_gone(self, body: Mapping[str, Any]) -> None:
        """This PodGroup is there no longer."""
        ...

    def forget_groups(self) -> None:
        """All PodGroups that there are will be named again."""
        ...


class Following:
    """Keeps a kopf operator for PodGroups running.

    `claim_signals` is called after each start of kopf, which takes SIGINT and SIGTERM for itself. With `admission`
    the same operator validates PodGroups.
    """

    def __init__(
        self,
        follower: Follower,
        client: ApiClient,
        login: Callable[[], Awaitable[kopf.AiohttpSession]],
        *,
        claim_signals: Callable[[], None],
        admission: AdmissionServing | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._follower = follower
        self._client = client
        self._login = login
        self._claim_signals = claim_signals
        self._admission = admission
        self._sleep = sleep
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End, kopf in good order."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self._until_served()
            self._follower.forget_groups()
            try:
                reason = await self._follow()
            except Exception as error:
                reason = error
            log.warning("PodGroups are no longer followed and will be again in a moment: %s", reason)
            await self._sleep(_PAUSE_SECONDS)

    async def _until_served(self) -> None:
        """Return when the API serves PodGroups, and has told all its servers that it does."""
        told: type[ApiError] | None = None
        while True:
            try:
                await self._client.get(LIST_PATH, params={"limit": "1"})
            except ApiError as error:
                if type(error) is not told:
                    _tell(error)
                told = type(error)
                await self._sleep(_PAUSE_SECONDS)
            else:
                if told is NotFound:
                    log.info("PodGroups are served now")
                    await self._sleep(_PAUSE_SECONDS)
                return

    async def _follow(self) -> BaseException | str:
        """Run kopf until it ends; the reason why it did."""
        beginning = asyncio.create_task(self._begin())  # a task of its own: kopf keeps its settings in the context
        try:
            done, _ = await asyncio.wait(await asyncio.shield(beginning), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end(await beginning)
        return next((error for task in done if not task.cancelled() and (error := task.exception())), "kopf ended")

    async def _begin(self) -> Collection[asyncio.Task[Any]]:
        registry, settings = kopf.OperatorRegistry(), economical()
        self._register(registry)
        if self._admission is not None:
            validate_pod_groups(registry)
            admission_settings(settings, self._admission)
        tasks = await kopf.spawn_tasks(registry=registry, settings=settings, clusterwide=True, standalone=True)
        self._claim_signals()
        return tasks

    def _register(self, registry: kopf.OperatorRegistry) -> None:
        @kopf.on.login(id="login", backoff=_PAUSE_SECONDS, registry=registry)
        async def login(**_: Any) -> kopf.AiohttpSession:
            return await self._login()

        @kopf.on.event(GROUP, VERSION, PLURAL, id="follow", registry=registry)
        async def follow(event: kopf.RawEvent, **_: Any) -> None:
            if event["type"] == "DELETED":
                self._follower.group_gone(event["object"])
            else:
                self._follower.group_seen(event["object"])


async def _end(tasks: Collection[asyncio.Task[Any]]) -> None:
    """End kopf's tasks, which end what they began themselves."""
    for task in tasks:
        task.cancel()
    _, hanging = await asyncio.wait(tasks, timeout=_END_SECONDS)
    if hanging:
        log.error("kopf does not end: %s", ", ".join(sorted(task.get_name() for task in hanging)))


def _tell(error: ApiError) -> None:
    if isinstance(error, NotFound):
        log.warning(
            "PodGroups are not served: the CustomResourceDefinition %s.%s is missing. "
            "Pods of groups wait until it is there, all others are scheduled",
            PLURAL,
            GROUP,
        )
    else:
        log.warning("PodGroups cannot be read: %s", error)
