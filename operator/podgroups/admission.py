"""Validating admission of groups, which rejects invalid groups instead of reporting them later.

Off by default; an option of `muster run` enables it. The API server has already applied the schema, which is as
permissive as scheduler-plugins'; the rules of the API find the other mistakes. An object that was stored with a mistake
can still be deleted, and changed in all other respects.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kopf

from muster.framework.contract import GroupKind
from muster.operator.kube.client import ApiClient
from muster.operator.kube.errors import ApiError

from .webhook import ReviewServer

log = logging.getLogger(__name__)

_UNPROCESSABLE = 422
_PAUSE_SECONDS = 5.0
"""The pause before the definition is read again, and before the next start or login of kopf."""
_END_SECONDS = 10.0
"""The longest time that kopf may take to end."""


@dataclass(frozen=True, slots=True)
class AdmissionServing:
    """The address at which the API server finds the webhook.

    Attributes:
        certificate, key: PEM files, read again when they change.
        port: to listen on, at `address`; "" for all addresses.
        managed: the name of a ValidatingWebhookConfiguration to keep pointing here, a domain of two parts or more; ""
            leaves that to the deployment.
        host, authority: for the managed configuration, the host name to call and the PEM file to trust it by.
    """

    certificate: Path
    key: Path
    port: int
    address: str = ""
    managed: str = ""
    host: str | None = None
    authority: Path | None = None


class AdmissionOperator:
    """Runs a kopf operator that validates PodGroups.

    This operator is separate from the one that runs the process, for two reasons. kopf ends as a whole if one of its
    parts fails, but an unreadable certificate or an occupied port must not end the scheduler. And kopf answers only for
    kinds that existed when it started, so it starts when the API serves PodGroups. It watches nothing: if their
    definition is deleted, it continues and receives no requests.

    `kinds` are the kinds of groups; it starts when the API serves all of them. `login` returns kopf's session;
    `claim_signals` is called after each start of kopf, which installs handlers for SIGINT and SIGTERM.
    """

    def __init__(
        self,
        serving: AdmissionServing,
        kinds: Sequence[GroupKind[Any]],
        client: ApiClient,
        login: Callable[[], Awaitable[kopf.AiohttpSession]],
        *,
        claim_signals: Callable[[], None],
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._serving = serving
        self._kinds = kinds
        self._client = client
        self._login = login
        self._claim_signals = claim_signals
        self._sleep = sleep
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start kopf as soon as the API serves the kinds."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop kopf, which may end in good order."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self._until_served()
            try:
                reason = await self._validate()
            except Exception as error:
                reason = error
            log.warning("PodGroups are no longer validated and will be again in a moment: %s", reason)
            await self._sleep(_PAUSE_SECONDS)

    async def _until_served(self) -> None:
        """Return when the API serves PodGroups, and all API servers know the definition."""
        waited = False
        while True:
            try:
                for kind in self._kinds:
                    await self._client.get(kind.objects.path, params={"limit": "1"})
            except ApiError:  # the informer of PodGroups reports the cause
                waited = True
                await self._sleep(_PAUSE_SECONDS)
                continue
            if waited:
                await self._sleep(_PAUSE_SECONDS)
            return

    async def _validate(self) -> BaseException | str:
        """Run kopf until it ends; returns the reason."""
        beginning = asyncio.create_task(self._begin())  # in a task, because kopf keeps its settings in the context
        try:
            done, _ = await asyncio.wait(await asyncio.shield(beginning), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end(await beginning)
        return next((error for task in done if not task.cancelled() and (error := task.exception())), "kopf ended")

    async def _begin(self) -> Collection[asyncio.Task[Any]]:
        registry = kopf.OperatorRegistry()
        self._register(registry)
        tasks = await kopf.spawn_tasks(
            registry=registry, settings=_settings(self._serving), clusterwide=True, standalone=True
        )
        self._claim_signals()
        return tasks

    def _register(self, registry: kopf.OperatorRegistry) -> None:
        """Register the handlers. PodGroups are admitted if the webhook cannot be reached."""

        @kopf.on.login(id="login", backoff=_PAUSE_SECONDS, registry=registry)
        async def login(**_: Any) -> kopf.AiohttpSession:
            return await self._login()

        for kind in self._kinds:
            self._register_kind(registry, kind)

    def _register_kind(self, registry: kopf.OperatorRegistry, kind: GroupKind[Any]) -> None:
        objects = kind.objects
        group, _, version = objects.api_version.partition("/")

        @kopf.on.validate(
            *(group, version, objects.plural),
            id=objects.plural,
            operations=["CREATE", "UPDATE"],
            ignore_failures=True,
            registry=registry,
        )
        async def validate(body: kopf.Body, old: Mapping[str, Any] | None = None, **_: Any) -> None:
            found = refusals(kind, old, body)
            if found:
                raise kopf.AdmissionError("; ".join(found), code=_UNPROCESSABLE)


def _settings(serving: AdmissionServing) -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    # kopf would kill the process this long after the operator ended, and the operator ends at each restart.
    settings.process.ultimate_exiting_timeout = None
    settings.admission.server = ReviewServer(
        serving.certificate,
        serving.key,
        port=serving.port,
        address=serving.address,
        host=serving.host,
        authority=serving.authority,
    )
    settings.admission.managed = serving.managed or None
    return settings


async def _end(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel kopf's tasks, which end their own tasks."""
    for task in tasks:
        task.cancel()
    _, hanging = await asyncio.wait(tasks, timeout=_END_SECONDS)
    if hanging:
        log.error("kopf does not end: %s", ", ".join(sorted(task.get_name() for task in hanging)))


def refusals(kind: GroupKind[Any], old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> Sequence[str]:
    """The reasons to reject a group `new` that was `old`, or did not exist; none if it is valid."""
    if old is not None and _judged(old) == _judged(new):
        return []
    return kind.problems(new)


def _judged(group: Mapping[str, Any]) -> tuple[object, object]:
    metadata = group.get("metadata")
    return group.get("spec"), metadata.get("annotations") if isinstance(metadata, Mapping) else metadata
