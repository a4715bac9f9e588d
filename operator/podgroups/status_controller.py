"""What the controllers of all kinds of groups have in common: they follow members that ended, and write statuses.

Each group is written at most once a second. What the server does not take is put off; when it takes nothing at all,
every group waits.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Coroutine
from typing import Any

from muster.operator.kube.client import PatchType
from muster.operator.kube.errors import ApiError, Conflict, NotFound, Rejected
from muster.operator.kube.informer import Informer
from muster.operator.kube.transport import Reply
from muster.plugins.coscheduling.api import PLURAL

from .worker import GroupWorker, WorkerPorts

log = logging.getLogger(__name__)

WRITE_PERIOD = 1.0
"""Seconds between two writes to one group."""

_RETRY_SECONDS = 10.0


class StatusController(GroupWorker):
    """A controller of one kind of groups.

    Attributes:
        ended: follows members that have ended.
    """

    def __init__(self, ports: WorkerPorts, groups: Container[str], ended: Informer[Any], api_version: str) -> None:
        super().__init__(ports, groups)
        self.ended = ended
        self._api_version = api_version
        self._failing = False

    def _duties(self) -> list[Coroutine[Any, Any, None]]:
        return [self._follow_ended(), *super()._duties()]

    async def _follow_ended(self) -> None:
        await self.ended.run()

    async def _patch(self, key: str, body: bytes, kind: PatchType) -> Reply | None:
        """Patch a group's status; None when that must be tried again, or need not."""
        namespace, _, name = key.partition("/")
        path = f"/apis/{self._api_version}/namespaces/{namespace}/{PLURAL}/{name}/status"
        try:
            reply = await self._ports.client.patch(path, body, kind=kind)
        except NotFound:
            return None  # the informer will say so
        except Conflict:
            self._again(key, WRITE_PERIOD)
            return None
        except Rejected as error:
            self._again(key, _RETRY_SECONDS)
            log.warning("the status of PodGroup %s was not accepted: %s", key, error)
            return None
        except ApiError as error:
            self._again(key, 0.0)
            self._paused_until = self._clock.now() + (error.retry_after or _RETRY_SECONDS)
            if not self._failing:
                log.warning("statuses of PodGroups cannot be written: %s", error)
            self._failing = True
            return None
        self._failing = False
        return reply
