"""An anonymous copy of a recording, with invented names, whose replay makes the same decisions.

Objects and events are walked by their structs: `fields` has the contents of each text, `words` has the replacements.
Fields of an object that its struct lacks are omitted. A recording whose decisions depend on the names is rejected.
"""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from muster.framework.contract import Node, Pod
from muster.framework.contract.group_tree import COMPOSITE_PREFIX
from muster.framework.contract.recorded import MapContent, SpelledOutError, TextKind
from muster.framework.groups.healing import HealingPolicy
from muster.framework.model.names import PREFIX
from muster.framework.model.volume_migration import MIGRATED_PLUGINS

from .calls import api_request, read_path
from .events import AnyEvent
from .fields import Fields, Member
from .reader import RecordingError
from .recorder import NODES, PODS
from .vocabulary import vocabulary
from .words import Words, is_built_in
from .writer import make_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from .reader import Recording
    from .session import Assembled

_EVENTS: Mapping[str, type[msgspec.Struct]] = {str(event.__struct_config__.tag): event for event in get_args(AnyEvent)}
_LISTED = re.compile(r"[^,\s]+")
_NAMING = frozenset(
    {"volume.beta.kubernetes.io/storage-class", "volume.kubernetes.io/selected-node", f"{PREFIX}parent-quota"}
)
"""Annotations whose values are names of objects, even if they look like amounts."""
_SETTINGS = frozenset({*HealingPolicy, "yes", "true", "false"})
"""The values of annotations that are read, other than names and amounts."""


def anonymous_copy(recording: Recording, copy: Path, assembly: Assembled) -> None:
    """Write a copy of the recording, in one file, with other names. `assembly` is the recorded one.

    Raises OSError, and RecordingError.
    """
    names = _Names(assembly)
    for line in recording.lines():
        names.renamed(json.loads(line))
    names.words.settle()
    with make_file(copy) as file:
        for line in recording.lines():
            document = names.renamed(json.loads(line))
            if document["event"] == "began":
                document["anonymous"] = True
            file.write(json.dumps(document, separators=(",", ":")).encode() + b"\n")


class _Names:
    """The walk through the events of a recording."""

    def __init__(self, assembly: Assembled) -> None:
        watched, plugins = assembly.watched(), assembly.registry.values()
        self._members = Fields(plugins).members
        self._lists_of_keys = {MIGRATED_PLUGINS, *chain.from_iterable(each.recorded.lists_of_keys for each in plugins)}
        self._settings = _SETTINGS.union(*(each.recorded.settings for each in plugins))
        self._renamed = next((found for each in plugins if (found := each.recorded.expression) is not None), None)
        self.words = words = Words(vocabulary(assembly.registry))
        self._arguments = {name: plugin.args_model for name, plugin in assembly.registry.items()}
        self._kinds: dict[str, type[Any]] = {PODS: Pod, NODES: Node} | {kind.resource: kind.type for kind in watched}
        self._served: dict[str, type[Any]] = {"/api/v1/pods": Pod} | {kind.path: kind.type for kind in watched}
        self._rules: Mapping[TextKind, Callable[[str], str]] = {
            TextKind.NAME: words.name,
            TextKind.KEY: words.key,
            TextKind.RESOURCE: words.resource,
            TextKind.IMAGE: words.image,
            TextKind.DRIVER: words.driver,
            TextKind.DISK: words.disk,
            TextKind.API_GROUP: words.api_group,
            TextKind.SCHEDULER: words.scheduler,
            TextKind.CONDITION: words.condition,
            TextKind.TEXT: words.text,
            TextKind.EXPRESSION: self._expression,
            TextKind.GROUP: self._group,
            TextKind.CALL: self._call,
        }

    def renamed(self, document: dict[str, Any]) -> dict[str, Any]:
        """The event with other names. Raises RecordingError."""
        tag = document["event"]
        try:
            return {"event": tag, **self._struct(_EVENTS[tag], document)}
        except SpelledOutError as error:
            metadata = document.get("object", {}).get("metadata", {})
            where = f"{document.get('kind')} {metadata.get('namespace', '')}/{metadata.get('name', '')}"
            raise RecordingError(f"{where}: {error}") from error

    def _struct(self, kind: type[Any], plain: Mapping[str, Any]) -> dict[str, Any]:
        known = self._members(kind)
        return {
            key: self._field(known[key], value, plain)
            for key, value in plain.items()
            if key in known and known[key].content is not TextKind.UNREAD
        }

    def _field(self, member: Member, value: Any, beside: Mapping[str, Any]) -> Any:
        """Rename the texts in a field; `beside` is the object that the field is part of."""
        match member.content:
            case TextKind.OBJECT:
                return self._object(beside["kind"], value)
            case TextKind.ANSWER:
                return self._answer(beside["call"], value)
            case TextKind.ARGUMENTS:
                model = self._arguments.get(beside.get("name", ""))
                return self._anything(value) if model is None or not value else self._struct(model, value)
            case TextKind.OWNED_KIND:
                return value if is_built_in(beside.get("apiVersion", "").rpartition("/")[0]) else self.words.name(value)
        return self._value(member, value)

    def _value(self, member: Member, value: Any) -> Any:
        content = member.content
        if isinstance(value, list):
            return [self._value(member, each) for each in value]
        if isinstance(value, str):
            return self._text(content, value) if member.texts else value
        if not isinstance(value, dict):
            return value
        if content is TextKind.ANNOTATIONS:
            return {self.words.key(key): self._annotation(key, text) for key, text in value.items()}
        if content is TextKind.BY_PLUGIN:
            return value
        if isinstance(content, MapContent):
            inner = Member(content.values, member.inner, texts=True)
            return {
                self._text(content.keys, key): each if self._is_setting(key, each) else self._item(inner, each)
                for key, each in value.items()
            }
        return self._anything(value) if member.inner is None else self._struct(member.inner, value)

    def _is_setting(self, key: str, value: Any) -> bool:
        """Whether this is a label of Muster whose value is read."""
        return key.startswith(PREFIX) and isinstance(value, str) and value in self._settings

    def _item(self, member: Member, value: Any) -> Any:
        if isinstance(value, dict) and member.inner is not None:
            return self._struct(member.inner, value)
        return self._value(member, value)

    def _text(self, content: object, text: str) -> str:
        """Rename a text by its content; an unlisted text counts as a name."""
        if content is TextKind.KEPT:
            return text
        if callable(content):
            return str(content(text, self.words))
        rule = self._rules.get(content) if isinstance(content, TextKind) else None
        return self.words.name(text) if rule is None else rule(text)

    def _anything(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self.words.name(key): self._anything(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._anything(each) for each in value]
        return self.words.name(value) if isinstance(value, str) else value

    def _object(self, kind: str, plain: dict[str, Any]) -> dict[str, Any]:
        if kind not in self._kinds:
            raise RecordingError(f"no plugin of the configuration watches {kind}, so their names cannot be told apart")
        return self._struct(self._kinds[kind], plain)

    def _annotation(self, key: str, text: str) -> str:
        if key in self._lists_of_keys:
            return _LISTED.sub(lambda found: self.words.key(found[0]), text)
        if key in _NAMING:
            return self.words.name(text)
        return text if text in self._settings else self.words.setting(text)

    def _expression(self, expression: str) -> str:
        return self.words.name(expression) if self._renamed is None else self._renamed(expression, self.words)

    def _group(self, group: str) -> str:
        """Rename `<plugin>/<namespace>/<name>`, which has a further word before the namespace for a tree."""
        plugin, slash, name = group.partition("/")
        tree = COMPOSITE_PREFIX if name.startswith(COMPOSITE_PREFIX) else ""
        return plugin + slash + tree + self.words.name(name.removeprefix(tree))

    def _call(self, call: str) -> str:
        """Rename `bind <uid> <node>`, or a verb with a path."""
        verb, _, rest = call.partition(" ")
        if verb == "bind":
            return f"{verb} {' '.join(map(self.words.name, rest.split(' ')))}"
        path, name = read_path(rest), self.words.name
        return api_request(verb, str(path._replace(namespace=name(path.namespace), name=name(path.name))))

    def _answer(self, call: str, body: str) -> str:
        if not body:
            return body
        plain = json.loads(body)
        kind = self._served.get(read_path(call.partition(" ")[2]).collection)
        known = kind is not None and "metadata" in plain and plain.get("kind") != "Status"
        return json.dumps(self._struct(kind, plain) if kind is not None and known else self._anything(plain))
