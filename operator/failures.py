"""Texts for failures of connections, TLS and files: `connection refused` instead of Python's text.

The texts of errors of aiohttp, ssl and the operating system name Python's objects and addresses in memory. Code that
reports such an error to a user calls `in_words`, and the log does so for kopf. The texts are those of Go's programs
where these have one.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Iterator
from typing import Final

import aiohttp

_UNTRUSTED: Final = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
_CERTIFICATES: Final = {
    9: "tls: failed to verify certificate: x509: certificate has expired or is not yet valid",
    10: "tls: failed to verify certificate: x509: certificate has expired or is not yet valid",
    18: _UNTRUSTED,
    19: _UNTRUSTED,
    20: _UNTRUSTED,
    21: _UNTRUSTED,
}
"""OpenSSL's code of a certificate that is refused -> Go's words."""

_TLS: Final = {
    "WRONG_VERSION_NUMBER": "http: server gave HTTP response to HTTPS client",
    "KEY_VALUES_MISMATCH": "tls: private key does not match public key",
    "PEM lib": "tls: failed to find any PEM data",
    "NO_START_LINE": "tls: failed to find any PEM data",
    "UNEXPECTED_EOF_WHILE_READING": "unexpected EOF",
}
"""OpenSSL's name of another failure -> Go's words."""

_OPENSSL: Final = re.compile(r"(?:\[[^\]]*\] ?)*(?P<text>.*?)(?: \(_ssl\.c:\d+\))?")
_PYTHON: Final = re.compile(r" object at 0x|Connection(?:Key|Pool)\(|\b[bu]'|\{'")
_ERRNO: Final = re.compile(r"\[Errno (\d+)\]")
_KOPFS: Final = "kopf."


def in_words(error: BaseException) -> str:
    """The failure as one line, without the address."""
    match error:
        case aiohttp.ServerDisconnectedError():
            return "EOF"
        case aiohttp.ClientConnectorCertificateError(certificate_error=cause):
            return in_words(cause)
        case aiohttp.ClientConnectorDNSError() | socket.gaierror():
            return "no such host"
        case TimeoutError():
            return "timed out"
        case aiohttp.ClientConnectorError(os_error=cause):
            return in_words(cause)
        case ssl.SSLCertVerificationError():
            return _CERTIFICATES.get(error.verify_code, f"tls: failed to verify certificate: {error.verify_message}")
        case ssl.SSLError():
            return _of_tls(error)
        case aiohttp.ContentTypeError():
            return "the answer is not JSON"
        case aiohttp.ClientResponseError():
            return "malformed HTTP response"
        case aiohttp.ClientPayloadError():
            return "unexpected EOF"
        case OSError(errno=int(number)) if number > 0:
            text = os.strerror(number).lower()
            return f"open {error.filename}: {text}" if error.filename is not None else text
        case _ if type(error).__module__.startswith(_KOPFS):
            return _of_kopf(error)
    return _of_others(error)


def in_words_within(text: str, error: BaseException) -> str:
    """`text`, with Python's text of the error replaced."""
    for of_python in (repr(error), str(error)):
        if of_python and of_python in text:
            return text.replace(of_python, in_words(error))
    return text


def _of_tls(error: ssl.SSLError) -> str:
    found = _OPENSSL.fullmatch(error.strerror or str(error))
    text = found["text"] if found else ""
    return _TLS.get(error.reason or text) or f"tls: {(error.reason or text).replace('_', ' ').lower()}"


def _of_kopf(error: BaseException) -> str:
    """The message of kopf's error: the first part, which is the API server's message; its whole answer follows."""
    message = error.args[0] if error.args else None
    return str(message or f"the server answered {getattr(error, 'status', 'with an error')}")


def _of_others(error: BaseException) -> str:
    """The error's text as one line; for a text with Python's objects, the text of the cause."""
    text = " ".join(str(error).split())
    if found := _ERRNO.search(text):
        return os.strerror(int(found[1])).lower()
    if text and not _PYTHON.search(text):
        return text
    for cause in _causes(error):
        if isinstance(cause, (OSError, aiohttp.ClientError)):
            return in_words(cause)
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).removesuffix(" Error")
    return words.lower()


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen = {id(error)}
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__
