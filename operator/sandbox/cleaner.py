"""A stand-in for the namespace controller: empties namespaces that are being deleted, then lets them go."""

from muster.operator.sandbox.deletion import DeleteOptions
from muster.operator.sandbox.kinds import KINDS, NAMESPACES
from muster.operator.sandbox.objects import Object, metadata, name_of
from muster.operator.sandbox.store import Store

_AT_ONCE = DeleteOptions(grace=0)
_CONTENT = [kind for kind in KINDS if kind.namespaced and "list" in kind.verbs and not kind.view_of]


class NamespaceCleaner:
    """Finishes the deletion of namespaces of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def step(self) -> None:
        """Empties what is being deleted; what finalizers hold is tried again in a later step."""
        for entry in self._store.ledger.entries(NAMESPACES):
            if metadata(entry.obj).get("deletionTimestamp"):
                self._clean(entry.obj)

    def _clean(self, namespace: Object) -> None:
        name = name_of(namespace)
        for kind in _CONTENT:
            for obj in self._store.objects(kind, namespace=name):
                self._store.delete(kind, name_of(obj), namespace=name, options=_AT_ONCE)
        if not any(self._store.ledger.entries(kind, name) for kind in _CONTENT):
            self._store.ledger.remove(NAMESPACES, name)
