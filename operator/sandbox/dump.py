"""Loading the state of a real cluster: what `kubectl get … -A -o json` prints.

Objects keep their uids, creation times and status; they get new resource versions, and no rule is applied to them, as
a real API server has accepted them already. Namespaces that the objects live in are made where the dump lacks them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from muster.operator.sandbox.errors import ApiError
from muster.operator.sandbox.kinds import NAMESPACES, Kind, by_type, stored_as
from muster.operator.sandbox.objects import Object, metadata, name_of, namespace_of, with_metadata
from muster.operator.sandbox.rules import of, shapes, to_stored
from muster.operator.sandbox.store import Store


class DumpError(ValueError):
    """Something in a dump that no API server could have printed; the text says what, and of which object."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many objects of each kind went in, and how many of which kinds (`apiVersion kind`) are not served here."""

    objects: Counter[str]
    skipped: Counter[str]


def load(store: Store, objects: Iterable[Object]) -> Loaded:
    """Stores objects as they are; lists among them are taken apart. Raises DumpError; what came before it is stored."""
    loaded = Loaded(Counter(), Counter())
    for obj in _flat(objects):
        api_version, name = str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
        kind = by_type(api_version, name)
        if kind is None or "list" not in kind.verbs:
            loaded.skipped[f"{api_version} {name}"] += 1
            continue
        try:
            shapes.check(kind, obj)
            store.replace_stored(stored_as(kind), _settled(store, kind, obj))
        except (shapes.ShapeError, ApiError) as error:
            raise DumpError(f"{api_version} {name} {_named(obj)}".rstrip() + f": {error}") from error
        loaded.objects[kind.resource] += 1
    return loaded


def _named(obj: Object) -> str:
    return name_of(obj) if isinstance(metadata(obj), dict) else ""


def _flat(objects: Iterable[Any]) -> Iterator[Object]:
    for obj in objects:
        if not isinstance(obj, dict):
            raise DumpError(f"not a Kubernetes object: {obj}")
        if isinstance(obj.get("items"), list):
            kind = str(obj.get("kind") or "").removesuffix("List")
            typed = {"apiVersion": obj.get("apiVersion"), "kind": kind}
            yield from _flat(typed | item if isinstance(item, dict) else item for item in obj["items"])
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
