"""Loading the state of a real cluster: what `kubectl get … -A -o json` prints.

Objects keep their uids, creation times and status; they get new resource versions, and no rule is applied to them, as
a real API server has accepted them already. Namespaces that the objects live in are made where the dump lacks them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from muster.operator.sandbox.kinds import NAMESPACES, Kind, by_type, stored_as
from muster.operator.sandbox.objects import Object, metadata, namespace_of, with_metadata
from muster.operator.sandbox.rules import of, to_stored
from muster.operator.sandbox.store import Store


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many objects of each kind went in, and how many of which kinds (`apiVersion kind`) are not served here."""

    objects: Counter[str]
    skipped: Counter[str]


def load(store: Store, objects: Iterable[Object]) -> Loaded:
    """Stores objects as they are; lists among them are taken apart."""
    loaded = Loaded(Counter(), Counter())
    for obj in _flat(objects):
        api_version, name = obj.get("apiVersion") or "", obj.get("kind") or ""
        kind = by_type(api_version, name)
        if kind is None or "list" not in kind.verbs:
            loaded.skipped[f"{api_version} {name}"] += 1
            continue
        store.replace_stored(stored_as(kind), _settled(store, kind, obj))
        loaded.objects[kind.resource] += 1
    return loaded


def _flat(objects: Iterable[Object]) -> Iterator[Object]:
    for obj in objects:
        if "items" in obj:
            kind = (obj.get("kind") or "").removesuffix("List")
            typed = {"apiVersion": obj.get("apiVersion"), "kind": kind}
            yield from _flat(typed | item for item in obj["items"])
        else:
            yield obj


def _settled(store: Store, kind: Kind, obj: Object) -> Object:
    """An object with the metadata that every stored object has, and with its kind's defaults."""
    born = {"uid": store.sources.uid(), "creationTimestamp": store.now}
    settled = of(kind).complete(to_stored(kind, obj | {"metadata": born | metadata(obj)}))
    if not kind.namespaced:
        return settled
    namespace = namespace_of(settled) or "default"
    if store.find(NAMESPACES, namespace) is None:
        store.create(NAMESPACES, {"metadata": {"name": namespace}})
    return with_metadata(settled, namespace=namespace)
