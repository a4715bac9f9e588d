"""Protection of the pages against other users and sites: security headers, and a check of each request.

Templates escape all text from the cluster; the Content-Security-Policy is a second line of defence. On a user's own
machine, other users and other sites can reach the port too. Requests of other sites fail the check of the Host header
(DNS rebinding) or lack the cookie, which browsers do not send for them. Other users lack the key, which is in the
address that `muster web` prints and from then on in the cookie.
"""

from __future__ import annotations

import hashlib
import hmac
from http import HTTPStatus
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

_POLICY = {
    "default-src": "'none'",
    "style-src": "'self'",
    "script-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
KEY = "key"
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Add the headers to a response, errors and streams included; a handler of `on_response_prepare`."""
    response.headers.update(HEADERS)


def only_with(key: str) -> Middleware:
    """A middleware that rejects requests to a host other than this machine, and requests without the key."""
    cookie = f"muster-web-{hashlib.sha256(key.encode()).hexdigest()[:8]}"  # ports of a machine share their cookies

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if _hostname(request.host) not in _LOOPBACK:
            raise web.HTTPMisdirectedRequest(text="ask for 127.0.0.1 or localhost\n")
        given = request.query.get(KEY)
        if given is not None and _same(given, key):
            answer = web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": request.path})
            answer.set_cookie(cookie, key, httponly=True, samesite="Strict", path="/")
            return answer
        if not _same(request.cookies.get(cookie, ""), key):
            raise web.HTTPForbidden(text="open the address that `muster web` printed\n")
        return await handler(request)

    return guard


def _same(given: str, key: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), key.encode())


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
