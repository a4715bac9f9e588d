"""The kopf operator that runs the process: login, startup, cleanup, liveness.

`muster run` calls `run`. Pods and nodes do not use kopf's handlers: the process's own informers follow them, because
kopf has no synced signal, reports no deletions after a relist and costs several times as much per event.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import kopf
import uvloop

from muster.operator.failures import in_words
from muster.operator.kube.transport import Transport
from muster.operator.logs import handle_loop_error, ignore_kopfs_end
from muster.operator.podgroups.admission import AdmissionOperator, AdmissionServing
from muster.operator.process.descriptors import raise_descriptor_limit
from muster.operator.process.endpoints import endpoints, liveness
from muster.operator.process.group_controllers import group_controllers
from muster.operator.process.kopf_login import KopfLogin
from muster.operator.process.memory import limit_heaps
from muster.operator.process.process import Process
from muster.operator.process.settings import cautions
from muster.operator.serving import ReviewAuthorizer, Server, certificate_files, self_signed
from muster.operator.versions import versions

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from muster.operator.kube.client import ApiClient
    from muster.operator.kube.credentials import Connection
    from muster.operator.podgroups.worker import GroupWorker
    from muster.operator.process.settings import Assembly

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a single page, over plain HTTP."""

    host: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Serving:
    """The address at which the process serves its pages.

    Attributes:
        host, port: the address; port 0 serves nothing.
        plain: whether to serve plain HTTP to every client, instead of TLS with authorisation by the API server.
        certificate, key: PEM files; without them, the process generates a certificate.
        liveness: the address of a liveness page like that of kopf's operators, if any.
        admission: the address of the webhook that validates PodGroups, if any.
        web: whether to serve the web pages too, below /web.
        flags: the flags of the process, for /flagz.
    """

    host: str
    port: int
    plain: bool = False
    certificate: Path | None = None
    key: Path | None = None
    liveness: Endpoint | None = None
    admission: AdmissionServing | None = None
    web: bool = False
    flags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PodGroupParts:
    """The operator's parts for PodGroups: controllers of their statuses, and optionally their admission."""

    controllers: Sequence[GroupWorker]
    admission: AdmissionOperator | None

    def start(self) -> None:
        """Begin."""
        for controller in self.controllers:
            controller.start()
        if self.admission is not None:
            self.admission.start()

    async def stop(self) -> None:
        """End."""
        if self.admission is not None:
            await self.admission.stop()
        await asyncio.gather(*(controller.stop() for controller in self.controllers))


FAILED = 1
"""kube-scheduler's exit code of a process that cannot continue: it has failed, or does not lead any more."""


class OperatorEndedError(Exception):
    """kopf ended unexpectedly; the text names the cause."""


def run(assembly: Assembly, connection: Connection, serving: Serving) -> None:
    """Run the scheduler until SIGTERM or SIGINT, then stop all parts.

    Before the first decision it raises ConfigurationError if a plugin cannot be created, and CertificateError or
    ListenError if it cannot serve its pages.
    """
    raise_descriptor_limit()
    limit_heaps()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(operate(assembly, connection, serving))
            return
    except OperatorEndedError as error:
        reason = str(error)
    log.error("the operator cannot go on: %s", reason)
    raise SystemExit(FAILED)


async def operate(assembly: Assembly, connection: Connection, serving: Serving) -> None:
    """Run the scheduler on the running loop until it is stopped; see `run`."""
    asyncio.get_running_loop().set_exception_handler(handle_loop_error)
    async with AsyncExitStack() as stack:
        process = Process(assembly, await stack.enter_async_context(Transport(connection)))
        log.info("Starting Muster", extra={"pairs": versions()})
        for caution in cautions(assembly):
            log.warning("%s", caution)
        groups = _pod_groups(process, connection, serving)
        registry = kopf.OperatorRegistry()
        _register(registry, process, groups, KopfLogin(connection))
        await _serve(process, assembly, serving, stack)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, process.dump)
        try:
            await kopf.operator(
                registry=registry,
                settings=_settings(),
                clusterwide=True,
                standalone=True,
                stop_flag=process.over,
            )
        except Exception as error:  # kopf ends by whatever its first look at the API met
            asyncio.get_running_loop().set_exception_handler(_log_unread_error)
            raise OperatorEndedError(f"{connection.server}: {in_words(error)}") from error
    if process.failed:
        raise SystemExit(FAILED)


def _log_unread_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """The loop's exception handler at the end: errors that kopf left unread in its tasks are debug messages."""
    log.debug("%s", context.get("message"))


def _register(registry: kopf.OperatorRegistry, process: Process, groups: PodGroupParts, log_in: KopfLogin) -> None:
    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        return await log_in()

    @kopf.on.startup(registry=registry)
    async def startup(**_: Any) -> None:
        process.start()
        groups.start()

    @kopf.on.cleanup(registry=registry)
    async def cleanup(**_: Any) -> None:
        ignore_kopfs_end()
        await groups.stop()
        await process.stop()


def _pod_groups(process: Process, connection: Connection, serving: Serving) -> PodGroupParts:
    """The controllers of PodGroups' statuses, if a profile has a plugin that knows groups."""
    admission = None
    books = process.engine.books()
    validated = [kind for kind in process.groups if kind.validates and kind.plugin in books]
    if serving.admission is not None and validated:
        admission = AdmissionOperator(
            serving.admission,
            validated,
            process.unfenced,
            KopfLogin(connection),
            claim_signals=lambda: _claim_signals(process),
        )
    return PodGroupParts(group_controllers(process), admission)


def _claim_signals(process: Process) -> None:
    """Let SIGTERM and SIGINT end the process, not just the kopf operator that was started last."""
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, process.over.set)


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    return settings


async def _serve(process: Process, assembly: Assembly, serving: Serving, stack: AsyncExitStack) -> None:
    """Serve the pages until the stack is closed."""
    if serving.liveness is not None:
        where = serving.liveness
        probe = Server(liveness(where.path, process.informers.missing), host=where.host, port=where.port, tls=None)
        await probe.start()
        stack.push_async_callback(probe.stop)
    if not serving.port:
        return
    authorizer = None
    tls: ssl.SSLContext | None = None
    if not serving.plain:
        authorizer = ReviewAuthorizer(_Reviews(process.unfenced), timer=time.monotonic)
        if serving.certificate is not None and serving.key is not None:
            tls = certificate_files(serving.certificate, serving.key)
        else:
            tls = await self_signed(["localhost", "127.0.0.1"])
    application = endpoints(process, assembly.configuration, authorizer, serving.flags)
    if serving.web:
        from muster.operator.web.process_cluster import (
            mounted,  # templates and all, which a scheduler without pages can do without
        )

        ticking = asyncio.create_task(mounted(application, process).ticker.run())
        stack.callback(ticking.cancel)
    server = Server(application, host=serving.host, port=serving.port, tls=tls)
    port = await server.start()
    stack.push_async_callback(server.stop)
    log.info("serving on %s:%d", serving.host, port)


class _Reviews:
    """Implements `ReviewClient` with the API client."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def post(self, path: str, body: bytes) -> bytes:
        """Post a review; returns the body of the answer."""
        return (await self._client.post(path, body)).body
