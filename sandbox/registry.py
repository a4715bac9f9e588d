"""The properties of a kind that the API needs, and the registry of the kinds that one API serves.

A `Kind` holds the differences between kinds that need no code: names, verbs, how updates and deletions behave, which
fields can be selected by. The built-in ones are the table in `kinds`; those of custom resources come from their
definitions while the API is running.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from dataclasses import fields as fields_of
from typing import Any

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Selectable:
    """A field that a field selector may name: where it is in the stored object, and what an absent one counts as."""

    path: tuple[str, ...]
    absent: str = ""


def fields(*paths: str, absent: str = "") -> dict[str, Selectable]:
    """Selectable fields by their dotted paths, where a selector names a field as the stored object does."""
    return {path: Selectable(tuple(path.split(".")), absent) for path in paths}


@dataclass(slots=True, kw_only=True)
class Definition:
    """One version of the kind that a CustomResourceDefinition defines, without the names.

    `schema` is the structural schema, `printer_columns` are the `additionalPrinterColumns`. `list_keys` has the names
    of the keys of each list whose items have keys, by the list's path. A changed definition changes them in place.
    """

    schema: dict[str, Any]
    printer_columns: list[dict[str, Any]]
    list_keys: Mapping[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Kind:
    """One kind in one API version. Compared by identity, so it serves as a key.

    `subresources` are the ones that are served besides the object itself. `generation` says whether a change of the
    spec counts up `metadata.generation`. `unconditional_update` says whether a PUT may leave the resource version out,
    `create_on_update` whether a PUT of an unknown name creates, `returns_deleted` whether a DELETE answers with the
    object. `custom` is set for a custom resource: no strategic merge, and a status write changes nothing but the
    status. `view_of` is the kind whose stored objects this kind shows in another form.
    """

    group: str = ""
    version: str = "v1"
    resource: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[str, ...] = ()
    generation: bool = False
    unconditional_update: bool = True
    create_on_update: bool = False
    returns_deleted: bool = False
    custom: Definition | None = None
    view_of: "Kind | None" = None
    selectable: Mapping[str, Selectable] = field(default_factory=dict)
    singular_name: str = ""
    list_name: str = ""

    @property
    def api_version(self) -> str:
        """`v1` or `group/version`, as objects carry it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """`pods` or `podgroups.scheduling.x-k8s.io`, as messages name it."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def singular(self) -> str:
        """The singular resource name, which kubectl accepts too."""
        return self.singular_name or self.kind.lower()

    @property
    def list_kind(self) -> str:
        """The kind of a list of these objects."""
        return self.list_name or f"{self.kind}List"

    def __repr__(self) -> str:
        return f"Kind({self.qualified}/{self.version})"


def stored_as(kind: Kind) -> Kind:
    """The kind whose objects are stored: the kind itself, or the one it is a view of."""
    return kind.view_of or kind


class Registry:
    """The kinds that one API serves: built-in ones, and those that definitions add and remove."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._by_path = {(kind.group, kind.version, kind.resource): kind for kind in kinds}

    def __iter__(self) -> Iterator[Kind]:
        return iter(tuple(self._by_path.values()))

    def by_path(self, group: str, version: str, resource: str) -> Kind | None:
        """The kind at `/apis/{group}/{version}/{resource}` (`/api/v1/{resource}` for the empty group)."""
        return self._by_path.get((group, version, resource))

    def by_type(self, api_version: str, name: str) -> Kind | None:
        """The kind of an object, from its `apiVersion` and `kind`."""
        return next((kind for kind in self if kind.kind == name and kind.api_version == api_version), None)

    def group_versions(self) -> list[tuple[str, str]]:
        """Every (group, version) that is served, the core group first."""
        return list(dict.fromkeys((kind.group, kind.version) for kind in self))

    def in_group_version(self, group: str, version: str) -> list[Kind]:
        """The kinds of one group and version, in the order in which they were added."""
        return [kind for kind in self if (kind.group, kind.version) == (group, version)]

    def define(self, kinds: Iterable[Kind]) -> None:
        """Serves the kinds of a definition. One that is served already stays the same key and gets the new content."""
        for kind in kinds:
            known = self._by_path.setdefault((kind.group, kind.version, kind.resource), kind)
            if known is not kind and known.custom and kind.custom:
                for part in fields_of(Definition):
                    setattr(known.custom, part.name, getattr(kind.custom, part.name))

    def undefine(self, kind: Kind) -> None:
        """Stops serving a kind."""
        self._by_path.pop((kind.group, kind.version, kind.resource), None)
