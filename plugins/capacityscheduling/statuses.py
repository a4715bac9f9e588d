"""Statuses of ElasticQuotas: what is used of the resources that `min` and `max` name, as `kubectl get eq` prints it.

The plugin says when usage may have changed; the statuses that differ are written a moment later, together, while this
process leads. A write that fails is repeated later; nothing waits for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import msgspec

from muster.framework.contract import ApiError, Handle
from muster.framework.model.requests import quantity

from .api import LIST_PATH, ElasticQuota, amounts_of
from .ledger import QuotaLedger
from .tree import Amounts

log = logging.getLogger(__name__)

_GATHER_SECONDS = 2.0
"""The time in which changes are gathered."""
_RETRY_SECONDS = 10.0
_MOST_AT_ONCE = 50
"""Statuses that are written in one round. The next round begins with the quota after the last one."""
_NOT_FOUND = 404


class QuotaStatuses:
    """Writes the statuses of `objects`, the quotas by key, through the handle of any profile."""

    def __init__(self, handle: Handle, objects: Mapping[str, ElasticQuota], ledger: Callable[[], QuotaLedger]) -> None:
        self._handle = handle
        self._objects = objects
        self._ledger = ledger
        self._is_armed = False
        self._is_failing = False
        self._begin_at = 0

    def changed(self) -> None:
        """Usage, or a quota, may have changed. Called often."""
        if not self._is_armed:
            self._arm(_GATHER_SECONDS)

    def _arm(self, seconds: float) -> None:
        self._is_armed = True
        self._handle.clock.call_later(seconds, self._look)

    def _look(self) -> None:
        self._is_armed = False
        stale = self._stale()
        if not stale:
            return
        if not self._handle.may_report():
            self._arm(_RETRY_SECONDS)
            return
        self._is_armed = True
        self._handle.spawn(self._write(stale))

    def _stale(self) -> dict[str, dict[str, str | None]]:
        """By key of each quota whose status is not up to date, the amounts to write; None for one to take out."""
        ledger = self._ledger()
        quotas = [*ledger.tree.by_namespace.values()]
        at, self._begin_at = min(self._begin_at, len(quotas)), 0
        found: dict[str, dict[str, str | None]] = {}
        for place, quota in enumerate(quotas[at:] + quotas[:at], start=at + 1):
            obj = self._objects.get(quota.key)
            if obj is not None and (changes := _changes(obj, ledger.settled(quota))):
                found[quota.key] = changes
            if len(found) == _MOST_AT_ONCE:
                self._begin_at = place % len(quotas)
                break
        return found

    async def _write(self, stale: Mapping[str, Mapping[str, str | None]]) -> None:
        seconds = _GATHER_SECONDS
        try:
            for key, used in stale.items():
                namespace, _, name = key.partition("/")
                path = f"{LIST_PATH.rpartition('/')[0]}/namespaces/{namespace}/elasticquotas/{name}/status"
                try:
                    await self._handle.api.patch(path, msgspec.json.encode({"status": {"used": used}}))
                except ApiError as error:
                    if error.status == _NOT_FOUND:
                        seconds = _RETRY_SECONDS
                        continue
                    if not self._is_failing:
                        log.warning("the status of ElasticQuota %s was not written: %s", key, error)
                    self._is_failing, seconds = True, error.retry_after or _RETRY_SECONDS
                    return
            self._is_failing = False
        finally:
            self._arm(seconds)


def _changes(quota: ElasticQuota, used: Amounts) -> dict[str, str | None]:
    """The changes to a status after which it names the usage of each resource of `min` and `max`."""
    spec, before = quota.spec, quota.status.used
    wanted = {name: used.get(name, 0) for name in sorted({**spec.min, **spec.max})}
    now = amounts_of(before)
    changes: dict[str, str | None] = dict.fromkeys(sorted(before.keys() - wanted.keys()))
    changes.update({name: quantity(name, n) for name, n in wanted.items() if now.get(name) != n})
    return changes
