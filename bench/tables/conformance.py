"""Kubernetes' own end-to-end tests, with either scheduler: a row for each test."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bench.tables.block import Block
from bench.tables.markdown import NONE, table
from bench.tables.speed import BASELINE, SUBJECT

_LABEL = re.compile(r"\s*\[(?!DRA\])[^\]]*\]")
_PASSED = "passed"
_Outcome = Mapping[str, Any] | None


def _e2e(data: Mapping[str, Any]) -> str:
    tests = data["tests"]
    counts = [sum(_has_passed(test["sides"][side]) for test in tests) for side in (BASELINE, SUBJECT)]
    rows = [[_short(test["name"]), *(_cell(test["sides"][side]) for side in (BASELINE, SUBJECT))] for test in tests]
    rows.append([f"passed, of {len(tests)}", *map(str, counts)])
    parts = [
        f"The tests of Kubernetes {data['kubernetes']}:",
        table(["test", "kube-scheduler", "Muster"], rows, texts=3),
    ]
    if reasons := list(_reasons(tests)):
        parts.append("\n".join(reasons))
    return "\n\n".join(parts)


def _short(name: str) -> str:
    """The name without labels, but for the one that says that devices are meant."""
    return _LABEL.sub("", name).strip()


def _cell(outcome: _Outcome) -> str:
    return NONE if outcome is None else str(outcome["state"])


def _has_passed(outcome: _Outcome) -> bool:
    return outcome is not None and outcome["state"] == _PASSED


def _reasons(tests: list[Mapping[str, Any]]) -> Iterator[str]:
    """What a test said that did not pass, once where it said so to both."""
    for test in tests:
        said: dict[str, list[str]] = {}
        for side, label in ((BASELINE, "kube-scheduler"), (SUBJECT, "Muster")):
            outcome = test["sides"][side]
            if outcome is not None and not _has_passed(outcome):
                said.setdefault(outcome.get("message", ""), []).append(label)
        for message, sides in said.items():
            yield f"- {_short(test['name'])}, {' and '.join(sides)}: {message}"


E2E = Block(("e2e",), _e2e)
