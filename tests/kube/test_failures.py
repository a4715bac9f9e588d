"""Failures in words: what people read of an error of aiohttp, ssl, kopf or the operating system."""

import errno
import ssl
from pathlib import Path

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from muster.operator.failures import in_words, in_words_within

KEY = ConnectionKey("host", 6443, True, True, None, None, None, None)
REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 1)")


def unverified(code: int, message: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, f"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {message}")
    error.verify_code, error.verify_message = code, message
    return error


def of_openssl(text: str, reason: str | None = None) -> ssl.SSLError:
    error = ssl.SSLError(1, text)
    error.reason = reason  # type: ignore[assignment]  # None where OpenSSL has no name for it
    return error


def deep() -> Exception:
    try:
        try:
            raise REFUSED
        except OSError as error:
            raise ValueError(f"<Pool object at 0x7f00>: {error!r}") from error
    except ValueError as error:
        return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (aiohttp.ServerDisconnectedError(), "EOF"),
        (aiohttp.ClientConnectorError(KEY, REFUSED), "connection refused"),
        (aiohttp.ClientOSError(errno.ECONNRESET, "Connection reset by peer"), "connection reset by peer"),
        (aiohttp.ClientConnectorDNSError(KEY, OSError(-2, "Name or service not known")), "no such host"),
        (
            aiohttp.ClientConnectorCertificateError(KEY, unverified(20, "unable to get local issuer certificate")),
            "tls: failed to verify certificate: x509: certificate signed by unknown authority",
        ),
        (
            unverified(10, "certificate has expired"),
            "tls: failed to verify certificate: x509: certificate has expired or is not yet valid",
        ),
        (
            unverified(62, "Hostname mismatch, certificate is not valid for 'a'."),
            "tls: failed to verify certificate: Hostname mismatch, certificate is not valid for 'a'.",
        ),
        (of_openssl("[SSL] PEM lib (_ssl.c:3905)"), "tls: failed to find any PEM data"),
        (
            of_openssl("[SSL: TLSV1_ALERT_UNKNOWN_CA] tlsv1 alert unknown ca (_ssl.c:1006)", "TLSV1_ALERT_UNKNOWN_CA"),
            "tls: tlsv1 alert unknown ca",
        ),
        (TimeoutError(), "timed out"),
        (aiohttp.ClientPayloadError("Response payload is not completed: <TransferEncodingError>"), "unexpected EOF"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "a.pem"),
            "open a.pem: no such file or directory",
        ),
        (OSError("Multiple exceptions: [Errno 113] Connect call failed ('::1', 1, 0, 0)"), "no route to host"),
        (ConnectionError("the answer is not HTTP"), "the answer is not HTTP"),
        (deep(), "connection refused"),
        (RuntimeError("<socket object at 0x7f00>"), "runtime"),
    ],
)
def test_an_error_is_reported_without_any_object_of_python(error: Exception, words: str) -> None:
    assert in_words(error) == words


def test_an_answer_that_kopf_refuses_is_logged_in_the_server_s_own_words() -> None:
    status = {"code": 403, "message": 'nodes is forbidden: User "x" cannot list resource', "reason": "Forbidden"}
    errors = __import__("kopf._cogs.clients.errors", fromlist=["errors"])
    error = errors.APIForbiddenError(status, status=403, headers={})
    assert in_words(error) == status["message"]
    assert (
        in_words_within(f"will retry: GET /apis -> {error!r}", error) == f"will retry: GET /apis -> {status['message']}"
    )
    assert in_words(errors.APIServerError(None, status=503, headers={})) == "the server answered 503"


def test_a_text_that_does_not_quote_the_error_stays_as_it_is() -> None:
    assert in_words_within("Some handlers failed", REFUSED) == "Some handlers failed"


def test_a_certificate_and_the_key_of_another_are_reported_in_go_s_words() -> None:
    data = Path(__file__).parent / "data"
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with pytest.raises(ssl.SSLError) as caught:
        context.load_cert_chain(data / "certificate.pem", data / "certificate.pem")
    assert in_words(caught.value) == "tls: failed to find any PEM data"
