"""The HTTP proxy for the API server, by the rules of kubectl, which are Go's.

`credentials` calls it once per connection. aiohttp's own reading of the environment is not used because it supports no
CIDR in NO_PROXY, and clusters are commonly reached by IP with `NO_PROXY=10.0.0.0/8`.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from .errors import CredentialsError

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy and its headers. `url` has no credentials; they are in `headers`, which no repr shows."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def parse_proxy(text: str, *, origin: str) -> Proxy:
    """The proxy that `text` names; the default scheme is `http://`.

    Raises CredentialsError, naming `origin`, for an invalid URL or an unsupported scheme (socks5).
    """
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port
    except ValueError as error:
        raise CredentialsError(f"{origin}: not a proxy URL") from error
    if parts.scheme not in _DEFAULT_PORTS:
        raise CredentialsError(f"{origin}: proxies of scheme {parts.scheme!r} are not supported, only http and https")
    if not parts.hostname:
        raise CredentialsError(f"{origin}: not a proxy URL")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return Proxy(f"{parts.scheme}://{host}:{port or _DEFAULT_PORTS[parts.scheme]}", _authorization(parts))


def proxy_from_environment(server: str, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy in HTTPS_PROXY or HTTP_PROXY for this server URL; None if NO_PROXY matches, or for loopback."""
    parts = urlsplit(server)
    name = f"{parts.scheme}_proxy"
    value = environ.get(name.upper()) or environ.get(name)
    if not value or _bypasses(parts, environ.get("NO_PROXY") or environ.get("no_proxy") or ""):
        return None
    return parse_proxy(value, origin=f"environment variable {name.upper()}")


def _authorization(parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}


def _bypasses(parts: SplitResult, no_proxy: str) -> bool:
    host = (parts.hostname or "").rstrip(".")
    port = str(parts.port or _DEFAULT_PORTS[parts.scheme])
    if host == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        address = None
    if address is not None and address.is_loopback:
        return True
    return any(_matches(rule.strip().lower(), host, port) for rule in no_proxy.split(","))


def _matches(rule: str, host: str, port: str) -> bool:
    """Whether a NO_PROXY entry matches: `*`, an address, a network, `name` (with subdomains), `.name` (only these)."""
    if rule in ("", "*"):
        return rule == "*"
    try:
        return ip_address(host) in ip_network(rule, strict=False)
    except ValueError:
        pass
    name, wanted_port = _split_port(rule)
    if wanted_port not in ("", port):
        return False
    try:
        return ip_address(name) == ip_address(host)
    except ValueError:
        pass
    name = name.removeprefix("*")
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _split_port(rule: str) -> tuple[str, str]:
    head, colon, tail = rule.rpartition(":")
    if colon and tail.isdecimal() and (":" not in head or head.startswith("[")):
        return head.strip("[]"), tail
    return rule.strip("[]"), ""
