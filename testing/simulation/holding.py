"""Holds: operators hold groups and trees, and resume them before the faults are over.

A process learns of a hold late, and may bind members until then. A group that is created with a hold was never without
it, so the judge accepts no Binding of its members before it is resumed.
"""

from __future__ import annotations

from muster.framework.model.names import PREFIX
from muster.sandbox.kinds import COMPOSITE_POD_GROUPS, NATIVE_POD_GROUPS
from muster.sandbox.registry import Kind

from .acts import CallLater, one_among
from .groups import GroupActs
from .meddling import Meddling
from .passing import NAMESPACE
from .server import SimulatedServer
from .traits import HELD
from .trees import Trees

_HOLD = PREFIX + HELD
_REASON = "maintenance"


class HoldActs:
    """Carries out acts that hold groups. What changes one is written down in `meddling`.

    Attributes:
        held_since_created: the names of groups that were created with a hold and have not been resumed.
    """

    def __init__(self, server: SimulatedServer, meddling: Meddling, groups: GroupActs, later: CallLater) -> None:
        self.held_since_created: set[str] = set()
        self._server = server
        self._store = server.store
        self._meddling = meddling
        self._groups = groups
        self._later = later

    def group_is_held(self, whom: float, seconds: float) -> None:
        """An operator holds a group of either kind, or a tree, for so long."""
        kinds = (self._server.pod_groups, NATIVE_POD_GROUPS, COMPOSITE_POD_GROUPS)
        groups = [(kind, group["metadata"]["name"]) for kind in kinds for group in self._server.objects(kind)]
        found = one_among(groups, whom)
        if found is not None:
            self._annotate(*found, _REASON)
            self._later(seconds, self._resume, *found)

    def held_group_comes(self, name: str, minimum: int, native: bool, seconds: float) -> None:
        """A group is created with a hold, and resumed after so long."""
        kind = NATIVE_POD_GROUPS if native else self._server.pod_groups
        self._groups.group_comes(name, minimum, native, ((HELD, _REASON),), urgent=False)
        self.held_since_created.add(name)
        self._later(seconds, self._resume, kind, name)

    def _resume(self, kind: Kind, name: str) -> None:
        self.held_since_created.discard(name)
        self._annotate(kind, name, None)

    def _annotate(self, kind: Kind, name: str, reason: str | None) -> None:
        """The group has a hold for this reason from now on, or none, if it exists."""
        found = self._store.find(kind, name, namespace=NAMESPACE)
        if found is None:
            return
        for leaf in Trees(self._server).leaves(name):
            self._meddling.touch(leaf)
        known = found.obj["metadata"].get("annotations") or {}
        others = {key: value for key, value in known.items() if key != _HOLD}
        annotations = others if reason is None else others | {_HOLD: reason}
        changed = found.obj | {"metadata": found.obj["metadata"] | {"annotations": annotations}}
        self._store.update(kind, name, changed, namespace=NAMESPACE)
