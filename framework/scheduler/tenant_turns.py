"""Tenants and their turns, as a plugin of one of the profiles says.

The queue asks. Plugins of one name in several profiles share what they know, so the first plugin of all is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import isnan
from typing import Any

from ..contract.tenants import TenantOrderPlugin
from ..model.pod_info import PodInfo
from ..runtime.answers import Failed, all_of, of_type, text
from ..runtime.plugin_calls import PluginCalls
from ..runtime.points import TENANT_OF, TENANTS_MOVED, TURN_OF
from ..runtime.subjects import ALL_TENANTS, NamespaceSubject
from .disruption import PluginsOfProfiles

_MOST_KEPT = 10_000
"""The namespaces whose tenant is kept."""


class TenantTurns:
    """Implements `queue.tenants.TenantOrder` for the plugins of all `profiles`."""

    def __init__(self, profiles: PluginsOfProfiles) -> None:
        self._profiles = profiles
        self._tenants: dict[str, str] = {}

    @cached_property
    def _asked(self) -> tuple[TenantOrderPlugin, PluginCalls] | None:
        return next(iter(self._profiles.with_calls(TenantOrderPlugin)), None)

    def tenants_moved(self) -> Sequence[str] | None:
        """The tenants whose turn may have changed; None if pods may have other tenants now."""
        if self._asked is None:
            return ()
        plugin, calls = self._asked
        try:
            moved = calls.ask(TENANTS_MOVED, plugin, ALL_TENANTS, plugin.tenants_moved, sound=_names_or_none)
        except Failed as failed:
            calls.log_failure(TENANTS_MOVED, plugin, ALL_TENANTS, failed.status)
            return ()
        if moved is None:
            self._tenants.clear()
        return moved

    def tenant_of(self, namespace: str) -> str:
        """The tenant of the pods in a namespace; "" for none. Asked once for each, until they may have others."""
        known = self._tenants.get(namespace)
        if known is not None or self._asked is None:
            return known or ""
        plugin, calls = self._asked
        about = NamespaceSubject(namespace)
        try:
            found = calls.ask(TENANT_OF, plugin, about, plugin.tenant_of, namespace, sound=text)
        except Failed as failed:
            calls.log_failure(TENANT_OF, plugin, about, failed.status)
            return ""
        if len(self._tenants) >= _MOST_KEPT:
            self._tenants.clear()
        self._tenants[namespace] = found
        return found

    def turn_of(self, tenant: str, pod: PodInfo) -> tuple[float, ...]:
        """How early the turn of the tenant is."""
        if self._asked is None:
            return ()
        plugin, calls = self._asked
        try:
            return calls.ask(TURN_OF, plugin, pod, plugin.turn_of, tenant, pod, sound=_turn)
        except Failed as failed:
            calls.log_failure(TURN_OF, plugin, pod, failed.status)
            return ()


def _names_or_none(answer: Any) -> Sequence[str] | None:
    return answer if answer is None or answer == () else all_of(of_type(answer, tuple, Sequence), str)


def _turn(answer: Any) -> tuple[float, ...]:
    if answer == ():
        return ()
    found: tuple[float, ...] = tuple(float(of_type(each, int, float)) for each in of_type(answer, tuple))
    if any(map(isnan, found)):
        raise ValueError("it answered a turn that has no order")
    return found
