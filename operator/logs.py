"""One log format for the whole process, with the levels and key-value pairs of Kubernetes components.

The process calls `configure` once at its start. Muster's own modules write a constant sentence, and the variable parts
as pairs: `log.info("Bound pod", extra={"pairs": {"pod": "ns/a"}})`. Libraries write to the same handler and are kept
quiet.

Verbosity is kube-scheduler's `-v`: 0 logs what an operator must know, 2 adds a line for each decision, 4 adds the
messages of libraries, 10 logs everything. Bearer tokens, passwords and keys are removed from every line.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TextIO

import msgspec

from muster.operator.failures import in_words_within

Style = Literal["text", "json"]

OWN = "muster"
MOST_VERBOSE = 10
_TRACEBACKS_FROM = 4
_LIBRARIES_FROM = 4
_LIBRARIES_DEBUG_FROM = 8
_KOPFS_OWN = "kopf._"
_KOPFS_PARTS = "kopf._core"
_ON_CLOSED = "the handler is closed"

_PAIRS = "pairs"
_SEVERITIES = ((logging.ERROR, "E", "error"), (logging.WARNING, "W", "warning"), (logging.NOTSET, "I", "info"))


def level(verbosity: int) -> int:
    """The stdlib level of a verbosity: 20 (INFO) for 0 down to 10 (DEBUG) for 10."""
    return logging.INFO - min(verbosity, MOST_VERBOSE)


def configure(*, verbosity: int, style: Style, stream: TextIO) -> None:
    """Send all log messages of this process to `stream` in one format.

    Replaces the handlers of the root logger, and the levels of the libraries' loggers.

    Args:
        verbosity: 0 to 10.
        style: `text` for klog's header and key="value" pairs, `json` for one object per line.
        stream: usually stderr.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    handler.addFilter(_kopfs_errors_in_words)
    if verbosity < _TRACEBACKS_FROM:
        handler.addFilter(_without_kopfs_traceback)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(_library_level(verbosity))
    logging.getLogger(OWN).setLevel(level(verbosity))
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    logging.getLogger(_KOPFS_PARTS).setLevel(logging.NOTSET)


def ignore_kopfs_end() -> None:
    """Silence kopf's loggers: kopf logs the connections that it closes at its end as failures."""
    logging.getLogger(_KOPFS_PARTS).setLevel(logging.CRITICAL + 1)


def handle_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """The exception handler of an event loop: log errors that the loop cannot raise.

    uvloop reports an error if data is left to be sent on a connection that has just broken. The owner of the connection
    learns of the loss anyway, so this is not logged as an error.
    """
    error = context.get("exception")
    if isinstance(error, RuntimeError) and _ON_CLOSED in str(error):
        logging.getLogger(__name__).debug("%s: %s", context.get("message"), error)
    else:
        loop.default_exception_handler(context)


def _without_kopfs_traceback(record: logging.LogRecord) -> bool:
    """Shorten kopf's tracebacks of API errors to the API's answer; errors of Muster's handlers keep theirs."""
    if record.name.startswith(_KOPFS_OWN):
        record.exc_info = record.exc_text = None
    return True


def _kopfs_errors_in_words(record: logging.LogRecord) -> bool:
    """Replace the repr of an error in kopf's messages by its text."""
    error = record.exc_info[1] if record.exc_info else sys.exception()
    if error is not None and record.name.startswith(_KOPFS_OWN):
        record.msg, record.args = in_words_within(record.getMessage(), error), ()
    return True


def _library_level(verbosity: int) -> int:
    if verbosity >= _LIBRARIES_DEBUG_FROM:
        return logging.DEBUG
    return logging.INFO if verbosity >= _LIBRARIES_FROM else logging.WARNING


class TextFormatter(logging.Formatter):
    """`I1121 09:40:01.123456   12345 binder.py:42] "Bound pod" pod="ns/a" node="n1"`, in local time."""

    def format(self, record: logging.LogRecord) -> str:
        letter, _ = _severity(record)
        time = datetime.fromtimestamp(record.created)
        pairs = _pairs(record)
        words = [record.getMessage()]
        if pairs is not None:
            words = [_literal(words[0]), *(f"{key}={_literal(value)}" for key, value in pairs.items())]
        head = f"{letter}{time:%m%d %H:%M:%S.%f} {record.process:7} {record.filename}:{record.lineno}]"
        return redact("\n".join([" ".join([head, *words]), *_traceback(self, record)]))


class JsonFormatter(logging.Formatter):
    """One object per line: `ts` (milliseconds since 1970), `level`, `logger`, `caller`, `msg`, `v`, then the pairs."""

    def format(self, record: logging.LogRecord) -> str:
        _, name = _severity(record)
        fields: dict[str, object] = {
            "ts": round(record.created * 1000, 3),
            "level": name,
            "logger": record.name,
            "caller": f"{record.filename}:{record.lineno}",
            "msg": record.getMessage(),
        }
        if record.levelno <= logging.INFO:
            fields["v"] = logging.INFO - record.levelno
        for traceback in _traceback(self, record):
            fields["stacktrace"] = traceback
        for key, value in (_pairs(record) or {}).items():
            fields.setdefault(key, value)
        return redact(_literal(fields))


def redact(text: str) -> str:
    """The text without bearer tokens, JSON web tokens, passwords in URLs, and values of keys named like secrets."""
    lowered = text.lower()
    return _SECRETS.sub(_without_secret, text) if any(mark in lowered for mark in _MARKS) else text


# A text without one of these has no secret; this check is ten times as fast as the expression.
_MARKS = ("bearer", "eyj", "://", "authorization", "passw", "token", "key-", "key_", "api")
_SECRETS = re.compile(
    r"""
    (?P<scheme>\bbearer\s+)[\w.~+/=-]{8,}
    | \beyJ[\w-]{8,}\.[\w-]+\.[\w-]*
    | (?P<user>://[^/\s:@"]*:)[^/\s@"]+(?=@)
    | (?P<key>(?:authorization|password|passwd|token|api[-_]?key|key[-_]data)(?P<quoted>\\?["'])?\s*[:=]\s*)
      (?P<value>"(?:\\.|[^"\\])*" | \\"[^"\\]*\\" | '[^']*' | (?:(?:bearer|basic)\s+)?[^\s"'\\,;&}\]]+)
    """,
    re.IGNORECASE | re.VERBOSE,
)


def _without_secret(match: re.Match[str]) -> str:
    value = match["value"] or ""
    quote = '\\"' if value.startswith("\\") else value[:1] if value[:1] in ("'", '"') else ""
    if match["quoted"] and not quote:
        return match[0]
    kept = match["scheme"] or match["user"] or match["key"] or ""
    return f"{kept}{quote}<redacted>{quote}"


def _severity(record: logging.LogRecord) -> tuple[str, str]:
    return next((letter, name) for floor, letter, name in _SEVERITIES if record.levelno >= floor)


def _pairs(record: logging.LogRecord) -> Mapping[str, object] | None:
    """The pairs of a record, or the object that a kopf record is about; None for a plain record."""
    pairs: Mapping[str, object] | None = getattr(record, _PAIRS, None)
    if pairs is not None:
        return pairs
    about = getattr(record, "k8s_ref", None)
    if about is None:
        return None
    return {"kind": about.get("kind"), "object": "/".join(filter(None, (about.get("namespace"), about.get("name"))))}


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    return [formatter.formatException(record.exc_info)] if record.exc_info else []


def _literal(value: object) -> str:
    """The value as JSON; a value without a JSON form, such as an exception, as a string."""
    return msgspec.json.encode(value, enc_hook=str).decode()
