"""A plugin's registrations for an event: whether a pod that the plugin rejected is tried again."""

from collections.abc import Mapping
from typing import Any

import msgspec

from muster.framework.contract import Action, ClusterEvent, EnqueueExtensions, Hint
from muster.plugins.catalog import IN_TREE
from tests.builders import PodDict
from tests.plugins.cluster import info

_KINDS = {kind.resource: kind for plugin in IN_TREE.values() for kind in plugin.watches}


class Asked:
    """The registrations of one plugin."""

    def __init__(self, plugin: EnqueueExtensions) -> None:
        self._registrations = plugin.events_to_register()

    def helps(
        self, pod: PodDict, resource: str, action: Action, *, old: object | None = None, new: object | None = None
    ) -> bool | None:
        """Whether the event helps the pod; None when the plugin did not register for it."""
        registered = [
            each for each in self._registrations if each.event.matches(ClusterEvent(resource, action, "that"))
        ]
        if not registered:
            return None
        return any(each.hint is None or each.hint(info(pod), old, new) is Hint.QUEUE for each in registered)

    def about(
        self, pod: PodDict, new: Mapping[str, Any] | None, *, old: Mapping[str, Any] | None = None
    ) -> bool | None:
        """The hint for a storage object that came, changed (with `old`) or went (without `new`)."""
        obj = new if new is not None else old
        assert obj is not None
        kind = _KINDS[obj["kind"]]
        action = Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE_OTHER
        before, after = (None if each is None else msgspec.convert(each, kind.type) for each in (old, new))
        return self.helps(pod, kind.resource, action, old=before, new=after)
