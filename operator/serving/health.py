"""Health pages in kube-scheduler's words: named checks, their results, one line each with `?verbose`.

A check is a callable that returns None if all is well, and otherwise what is wrong. Every client that reaches the port
can read its text, so a check must not contain anything confidential. (kube-scheduler prints `reason withheld` instead.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus

Check = Callable[[], str | None]
Checks = Mapping[str, Check]

PING: Checks = {"ping": lambda: None}
"""The check of a page that has no other: it says no more than that the process answers."""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """The answer to a probe: an HTTP status and plain text."""

    status: int
    text: str


def probe(page: str, checks: Checks, *, excluded: Collection[str] = (), verbose: bool = False) -> ProbeAnswer:
    """Runs all checks of a page (`livez`, `healthz`, `readyz`).

    Args:
        page: its name, for the last line.
        checks: what to run, in the order of the answer.
        excluded: names of checks to leave out.
        verbose: whether to list the checks when all of them pass; a failure always lists them.
    """
    lines = []
    failed = False
    for name, check in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
        elif (problem := check()) is None:
            lines.append(f"[+]{name} ok")
        else:
            failed = True
            lines.append(f"[-]{name} failed: {problem}")
    if unknown := sorted(set(excluded) - checks.keys()):
        names = ",".join(json.dumps(name) for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    if failed:
        return ProbeAnswer(HTTPStatus.INTERNAL_SERVER_ERROR, "\n".join([*lines, f"{page} check failed", ""]))
    return ProbeAnswer(HTTPStatus.OK, "\n".join([*lines, f"{page} check passed", ""]) if verbose else "ok")


def single(check: Check) -> ProbeAnswer:
    """Runs one check by itself."""
    problem = check()
    if problem is None:
        return ProbeAnswer(HTTPStatus.OK, "ok")
    return ProbeAnswer(HTTPStatus.INTERNAL_SERVER_ERROR, f"internal server error: {problem}\n")
