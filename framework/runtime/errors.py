"""How an ERROR status is told to people: with the place it comes from, in kube-scheduler's words."""

from __future__ import annotations

from ..contract.status import Code, Status


def error_in(context: str, status: Status) -> Status:
    """An ERROR with the text of `status` behind `context`, by the same plugin."""
    return Status(Code.ERROR, (f"{context}: {status.message}",), status.plugin)
