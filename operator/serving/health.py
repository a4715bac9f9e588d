"""Health pages with kube-scheduler's texts: named checks and their results, one line each with `?verbose`.

A check is a callable that returns None, or the problem as a text. Every client that reaches the port can read the text,
so it must not be confidential. (kube-scheduler prints `reason withheld` instead.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus

Check = Callable[[], str | None]
Checks = Mapping[str, Check]

PING: Checks = {"ping": lambda: None}
"""The check of a page without other checks: the process answers."""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """The answer to a probe: an HTTP status and plain text."""

    status: int
    text: str


def probe(page: str, checks: Checks, *, excluded: Collection[str] = (), verbose: bool = False) -> ProbeAnswer:
    """Run all checks of a page (`livez`, `healthz`, `readyz`).

    Args:
        page: the page's name, for the last line.
        checks: the checks, in the order of the answer.
        excluded: the names of checks to skip.
        verbose: whether to list the checks if all of them pass; after a failure they are always listed.
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
    """Run a single check."""
    problem = check()
    if problem is None:
        return ProbeAnswer(HTTPStatus.OK, "ok")
    return ProbeAnswer(HTTPStatus.INTERNAL_SERVER_ERROR, f"internal server error: {problem}\n")
