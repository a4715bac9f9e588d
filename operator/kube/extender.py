"""An extender over HTTP: `contract.Extender` for one entry of a configuration's `extenders` (upstream: HTTPExtender).

The process creates and closes one for each entry; the engine calls them. Errors have Go's words where users will search
for them. A verb that only asks is sent again if a kept connection turns out to be closed.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import aiohttp
import msgspec

from muster.framework.config import ConfigurationError, Problem
from muster.framework.contract.extender import ExtenderError, ExtenderFilterResult, MetaVictims
from muster.framework.model.faults import fault
from muster.operator.failures import in_words

from . import extender_wire as wire
from .errors import CredentialsError
from .proxy import Proxy, proxy_from_environment
from .tls import ClientTls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from muster.framework.config import ExtenderConfig
    from muster.framework.contract.extender import Victims
    from muster.framework.model.pod_info import PodInfo

    from .whole import WholeObjects

_Answer = TypeVar("_Answer")
_OK = 200
_SCHEMES = ("http://", "https://")
_AWAITING = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
_READING = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The parts of a process that an extender needs.

    Attributes:
        objects: whole pods and nodes.
        may_write: whether this process may still bind pods.
        before_bind: awaited with a pod's UID before the binding.
    """

    objects: WholeObjects
    may_write: Callable[[], bool]
    before_bind: Callable[[str], Awaitable[None]]


class HttpExtender:
    """Implements `contract.Extender`. To be made and closed on one event loop.

    `path` is where it stands in the configuration. Raises ConfigurationError for TLS files that cannot be used.
    """

    def __init__(self, config: ExtenderConfig, surroundings: Surroundings, path: str) -> None:
        self.name = _without_password(config.url_prefix)
        self.weight = config.weight
        self.ignorable = config.ignorable
        self.is_filter = bool(config.filter_verb)
        self.is_prioritizer = bool(config.prioritize_verb)
        self.is_binder = bool(config.bind_verb)
        self.supports_preemption = bool(config.preempt_verb)
        self._config = config
        self._surroundings = surroundings
        self._managed = frozenset(resource.name for resource in config.managed_resources)
        try:
            self._tls = client_tls(config, path)
            self._proxy = _proxy(config.url_prefix)
        except CredentialsError as error:
            raise ConfigurationError([Problem(path, str(error))]) from error
        self._session = aiohttp.ClientSession(
            headers={"User-Agent": "muster"}, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=True
        )

    async def close(self) -> None:
        """Close its connections."""
        await self._session.close()

    def is_interested(self, pod: PodInfo) -> bool:
        """Whether it manages no particular resources, or one that a container of the pod requests."""
        if not self._managed:
            return True
        spec = pod.pod.spec
        return any(
            not self._managed.isdisjoint(amounts)
            for container in (*spec.containers, *spec.init_containers)
            for amounts in (container.resources.requests, container.resources.limits)
        )

    async def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderFilterResult:
        """Ask which of the nodes can run the pod."""
        names = self._config.node_cache_capable
        verb = self._config.filter_verb
        return await self._ask(verb, pod, node_names, lambda body: wire.filter_result(body, names=names))

    async def prioritize(self, pod: PodInfo, node_names: Sequence[str]) -> Mapping[str, int]:
        """The scores of nodes, 0 to 10."""
        return await self._ask(self._config.prioritize_verb, pod, node_names, wire.host_priorities)

    async def process_preemption(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, MetaVictims]:
        """Ask which of the nodes are suitable, and which pods would be evicted there."""
        objects = self._surroundings.objects
        whole = await objects.pod(pod)
        if self._config.node_cache_capable:
            named = {
                name: MetaVictims([victim.uid for victim in each.pods], each.violations)
                for name, each in victims.items()
            }
            body = wire.preemption_args_with_uids(whole, named)
        else:
            pods = await objects.pods({name: each.pods for name, each in victims.items()})
            body = wire.preemption_args_with_pods(
                whole, {name: (pods[name], each.violations) for name, each in victims.items()}
            )
        return await self._send(self._config.preempt_verb, body, wire.preemption_result)

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        """Let the extender bind the pod."""
        await self._surroundings.before_bind(pod.uid)
        if not self._surroundings.may_write():
            raise ExtenderError("this process does not hold the lease")
        body = msgspec.json.encode(wire.BindingArgs(pod.name, pod.namespace, pod.uid, node_name))
        await self._send(self._config.bind_verb, body, wire.check_binding_result, again=False)

    async def _ask(
        self, verb: str, pod: PodInfo, node_names: Sequence[str], read: Callable[[bytes], _Answer]
    ) -> _Answer:
        objects = self._surroundings.objects
        whole = await objects.pod(pod)
        if self._config.node_cache_capable:
            return await self._send(verb, wire.args_with_names(whole, node_names), read)
        return await self._send(verb, wire.args_with_nodes(whole, objects.nodes(node_names)), read)

    async def _send(self, verb: str, body: bytes, read: Callable[[bytes], _Answer], *, again: bool = True) -> _Answer:
        url = f"{self._config.url_prefix.rstrip('/')}/{verb}"
        shown = _without_password(url)
        try:
            answer = await self._post(verb, url, body)
        except aiohttp.ServerDisconnectedError as error:
            if not again:
                raise ExtenderError(f'Post "{shown}": EOF') from error
            try:
                answer = await self._post(verb, url, body)
            except (aiohttp.ClientError, OSError) as second:
                raise ExtenderError(f'Post "{shown}": {_cause(second)}') from second
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ExtenderError(f'Post "{shown}": {_cause(error)}') from error
        try:
            return read(answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ExtenderError(
                f"the answer of {shown} is not readable: {fault(error)}" if answer else "EOF"
            ) from error

    async def _post(self, verb: str, url: str, body: bytes) -> bytes:
        proxy = self._proxy
        said = _AWAITING
        try:
            async with asyncio.timeout(self._config.http_timeout):
                async with self._session.post(
                    url,
                    data=io.BytesIO(body),
                    headers={"Content-Type": "application/json", "Content-Length": str(len(body))},
                    timeout=aiohttp.ClientTimeout(total=None),
                    ssl=self._tls.context if self._tls is not None else True,
                    server_hostname=self._server_name(),
                    proxy=proxy.url if proxy is not None else None,
                    proxy_headers=proxy.headers if proxy is not None else None,
                    allow_redirects=False,
                ) as response:
                    if response.status != _OK:
                        shown = _without_password(url)
                        raise ExtenderError(f"failed {verb} with extender at URL {shown}, code {response.status}")
                    said = _READING
                    return await response.read()
        except TimeoutError as error:
            awaiting = f'Post "{_without_password(url)}": {_AWAITING}'
            raise ExtenderError(awaiting if said is _AWAITING else _READING) from error

    def _server_name(self) -> str | None:
        tls = self._config.tls_config
        return tls.server_name or None if tls is not None else None


def client_tls(config: ExtenderConfig, path: str) -> ClientTls | None:
    """TLS as kube-scheduler sets it up: unverified where HTTPS is enabled and no authority is named.

    None leaves it to the system's authorities. Raises ConfigurationError naming the field that cannot be used.
    """
    wanted = config.tls_config
    if wanted is None:
        return ClientTls(authority=None, insecure=True, origin=path) if config.enable_https else None
    place = f"{path}.tlsConfig"
    authority = wanted.ca_data or _contents(wanted.ca_file, f"{place}.caFile")
    certificate = wanted.cert_data or _contents(wanted.cert_file, f"{place}.certFile")
    key = wanted.key_data or _contents(wanted.key_file, f"{place}.keyFile")
    if authority and wanted.insecure:
        raise _problem(place, "specifying a root certificates file with the insecure flag is not allowed")
    if bool(certificate) != bool(key):
        raise _problem(place, "a client certificate and its key go together")
    insecure = wanted.insecure or (config.enable_https and not authority)
    try:
        tls = ClientTls(authority=authority, insecure=insecure, origin=place)
        if certificate and key:
            tls.present(certificate=certificate, key=key, origin=place)
    except CredentialsError as error:
        raise ConfigurationError([Problem(place, str(error))]) from error
    return tls


def _without_password(url: str) -> str:
    """The URL for errors, which conditions of pods show to everyone (upstream: net/http's stripPassword)."""
    return re.sub(r"^([^/]+//[^/:@]*:)[^/]*@", r"\1***@", url)


def _proxy(url: str) -> Proxy | None:
    """The proxy to the URL; None also if it is no URL, because the configuration may have any, and calls then fail."""
    if not url.lower().startswith(_SCHEMES):
        return None
    try:
        return proxy_from_environment(url, os.environ)
    except ValueError:
        return None


def _contents(file: str, path: str) -> bytes | None:
    if not file:
        return None
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as error:
        raise _problem(path, f"open {file}: {(error.strerror or str(error)).lower()}") from error


def _problem(path: str, text: str) -> ConfigurationError:
    return ConfigurationError([Problem(path, f"{path}: {text}")])


def _cause(error: Exception) -> str:
    """The cause of a failure, in Go's words where it is a common one."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return f"dial tcp: lookup {error.host}: {in_words(error)}"
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            return in_words(error)
        case aiohttp.ClientConnectorError():
            return f"dial tcp {_address(error.host, error.port)}: connect: {in_words(error)}"
        case aiohttp.NonHttpUrlClientError():
            return f'unsupported protocol scheme "{str(error).partition(":")[0]}"'
        case aiohttp.InvalidURL():
            return "invalid URL" if str(error).lower().startswith(_SCHEMES) else 'unsupported protocol scheme ""'
        case _:
            return in_words(error)


def _address(host: str, port: int | None) -> str:
    try:
        socket.inet_pton(socket.AF_INET6, host)
    except OSError:
        return f"{host}:{port}"
    return f"[{host}]:{port}"
