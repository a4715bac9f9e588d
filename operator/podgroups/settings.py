"""kopf's settings for following many PodGroups cheaply and leaving no trace on them."""

from __future__ import annotations

from typing import Any

import kopf

_LINGER_SECONDS = 0.1
_PAGE_SIZE = 500


def economical() -> kopf.OperatorSettings:
    """Settings for an operator that has event handlers only, whose watches are begun again by somebody else.

    kopf compares every object with the state it last handled, which event handlers do not need and which is two thirds
    of what an event costs; and it keeps a task for each object for a while after its last event.
    """
    settings = kopf.OperatorSettings()
    settings.persistence.diffbase_storage = _NoDiffBase()
    settings.persistence.progress_storage = _NoProgress()
    settings.queueing.idle_timeout = _LINGER_SECONDS
    settings.watching.chunk_size = _PAGE_SIZE
    settings.posting.enabled = False
    settings.scanning.disabled = True
    # It would kill the process this long after this operator ended, as it does whenever it is begun again.
    settings.process.ultimate_exiting_timeout = None
    return settings


class _NoDiffBase(kopf.DiffBaseStorage):
    """No object has a last handled state."""

    def build(self, **_: Any) -> Any:
        return {}

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        raise NotImplementedError("event handlers leave no state")


class _NoProgress(kopf.ProgressStorage):
    """No handler is in progress."""

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        raise NotImplementedError("event handlers make no progress")

    def purge(self, **_: Any) -> None:
        return None

    def touch(self, **_: Any) -> None:
        return None

    def clear(self, *, essence: Any) -> Any:
        return essence
