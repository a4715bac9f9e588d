"""Protection of the pages against other users and sites: headers on every answer, and which requests get an answer.

Templates escape all text from the cluster; the Content-Security-Policy is a second line of defence. On a user's own
machine other users and other sites reach the port too. Sites are kept out by the Host that they would have to name (DNS
rebinding) and by a cookie that browsers do not send for them; users by the key in the address that `muster web` prints,
which the cookie holds from then on.
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
    """For `on_response_prepare`: every answer has them, errors and streams included."""
    response.headers.update(HEADERS)


def only_with(key: str) -> Middleware:
    """Answers only those who name this machine as the host and have the key."""
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
