"""Reading a dump: the objects of a whole cluster, as kubectl prints them.

A dump that lists an object twice is refused: no cluster has two objects of one name or UID, and which of them counts
would depend on the reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from muster.framework.contract import WatchedKind
from muster.operator.process.settings import Assembly

from .manifests import ManifestError, Objects, read
from .sources import texts


def read_dump(dump: Path, assembly: Assembly, watched: Sequence[WatchedKind]) -> Objects:
    """The cluster in a file or a folder of files, with the objects of the `watched` kinds.

    Raises OSError for unreadable files, and ManifestError for a dump of no cluster.
    """
    found, whole = Objects(), bool(assembly.configuration.extenders)
    for source, text in texts(str(dump)):
        found.extend(read(text, source, watched, found.admission, kinds=assembly.groups, whole=whole))
    for problem in _duplicates(found):
        raise ManifestError(f"{dump}: {problem}")
    if not found.nodes:
        raise ManifestError(f"no nodes in {dump}")
    return found


def _duplicates(found: Objects) -> Iterator[str]:
    yield from _of_kind("Node", found.nodes)
    yield from _of_kind("Pod", found.pods)
    for kind, objects in found.watched.items():
        yield from _of_kind(kind.name, objects, found.made.get(kind))
    for name, key in found.admission.repeated:
        yield _duplicate(name, key, "name", key.rpartition("/")[2])


def _of_kind(kind: str, objects: Sequence[Any], made: Counter[str] | None = None) -> Iterator[str]:
    """The duplicates among objects of a kind, of which `made` were not listed but made for others, by key."""
    counts = Counter(each.metadata.key for each in objects)
    counts.subtract(made or {})
    for key, count in counts.items():
        if count > 1:
            yield _duplicate(kind, key, "name", key.rpartition("/")[2])
    keys: dict[str, str] = {}
    for each in objects:
        uid, key = each.metadata.uid, each.metadata.key
        if uid and keys.setdefault(uid, key) != key:
            yield _duplicate(kind, key, "uid", uid)


def _duplicate(kind: str, key: str, field: str, value: str) -> str:
    return f'{kind} {key}: metadata.{field}: Duplicate value: "{value}"'
