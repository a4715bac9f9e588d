"""Made-up names for a recording that others are to have.

Each word of a name stands for another one wherever it is met, in the same order, and everything between words stays: a
copy sorts as the original does and is decided as it is. Words of Kubernetes, of resources and of plugins stay.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from .writer import make_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .reader import Recording

_WORD = re.compile(r"[A-Za-z]+")
_IN_TEXT = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9._/]*[A-Za-z0-9])?")
_LETTERS = 26
_API_DOMAINS = ("kubernetes.io", "k8s.io", "x-k8s.io", "muster-scheduler.io")
_API_KINDS = frozenset(
    {"CSIDriver", "CSIStorageCapacity", "DeviceClass", "DeviceTaintRule", "ResourceSlice", "StorageClass"}
)
"""Kinds whose objects are named by drivers, and what drivers say, not by the cluster's users."""
_NAMES = frozenset(
    {"name", "namespace", "nodeName", "nominatedNodeName", "claimName", "resourceClaimName", "volumeName"}
    | {"resourceClaimTemplateName", "podGroupName", "image", "reference", "node", "pod", "value", "names", "values"}
    | {"volumeHandle", "nodeID", "podGroup"}
)
_KEYS = frozenset({"key", "topologyKey"})
_MAPS = frozenset({"labels", "nodeSelector", "matchLabels"})
_TEXTS = frozenset({"message"})


def anonymous_copy(recording: Recording, copy: Path) -> None:
    """Write a copy of the recording, in one file, with other names. Raises OSError, and RecordingError."""
    names = _Names()
    for line in recording.lines():
        names.collect(json.loads(line))
    names.settle()
    with make_file(copy) as file:
        for line in recording.lines():
            document = names.renamed(json.loads(line))
            if document["event"] == "began":
                document["anonymous"] = True
            file.write(json.dumps(document, separators=(",", ":")).encode() + b"\n")


class _Names:
    """The words of a recording with those that stand for them. First all are collected, then settled."""

    def __init__(self) -> None:
        self._words: set[str] = set()
        self._whole: set[str] = set()
        self._codes: dict[str, str] = {}

    def collect(self, document: dict[str, Any]) -> None:
        """Note the names in this event."""
        self._walk(document, self._note)

    def settle(self) -> None:
        """All have been collected."""
        words = sorted(self._words)
        width = 1
        while _LETTERS**width < len(words):
            width += 1
        self._codes = {word: _code(number, width) for number, word in enumerate(words)}

    def renamed(self, document: dict[str, Any]) -> dict[str, Any]:
        """The event with other names."""
        found: dict[str, Any] = self._walk(document, self._rename)
        return found

    def _note(self, name: str) -> str:
        self._words.update(_WORD.findall(name))
        self._whole.add(name)
        return name

    def _rename(self, name: str) -> str:
        return _WORD.sub(lambda word: self._codes.get(word[0], word[0]), name)

    def _walk(self, document: dict[str, Any], told: Callable[[str], str]) -> dict[str, Any]:
        kind = document.get("kind", "")
        found = {key: self._value(key, value, kind, told) for key, value in document.items()}
        for key in ("group", "call"):
            if isinstance(text := document.get(key), str):
                found[key] = self._group(text, told) if key == "group" else self._call(text, told)
        if document.get("event") == "answered" and document.get("result"):
            body = json.loads(document["result"])
            found["result"] = json.dumps(self._value("", body, body.get("kind", ""), told))
        return found

    def _value(self, key: str, value: Any, kind: str, told: Callable[[str], str]) -> Any:
        if isinstance(value, dict):
            if key == "configuration":
                return self._configuration(value, told)
            if key in _MAPS:
                return {self._label(name, told): told(text) for name, text in value.items()}
            if key == "metadata" and kind in _API_KINDS:
                return value
            return {name: self._value(name, each, kind, told) for name, each in value.items()}
        if isinstance(value, list):
            return [self._value(key, each, kind, told) for each in value]
        if not isinstance(value, str) or not value:
            return value
        if key in _KEYS:
            return self._label(value, told)
        if key in _TEXTS:
            return self._text(value)
        named = key in _NAMES and (kind not in _API_KINDS or key == "nodeName")
        return told(value) if named else value

    def _configuration(self, value: dict[str, Any], told: Callable[[str], str]) -> dict[str, Any]:
        """Plugins and profiles keep their names; what plugins are told may name labels of nodes."""
        found = dict(value)
        found["profiles"] = [dict(profile) for profile in value.get("profiles", ())]
        for profile in found["profiles"]:
            given = profile.get("pluginConfig", ())
            profile["pluginConfig"] = [each | {"args": self._value("", each.get("args"), "", told)} for each in given]
        return found

    def _label(self, key: str, told: Callable[[str], str]) -> str:
        domain, slash, _ = key.partition("/")
        known = slash and any(domain == each or domain.endswith(f".{each}") for each in _API_DOMAINS)
        return key if known or key == "metadata.name" else told(key)

    def _group(self, group: str, told: Callable[[str], str]) -> str:
        """`<plugin>/<namespace>/<name>`."""
        plugin, slash, name = group.partition("/")
        return plugin + slash + told(name)

    def _call(self, call: str, told: Callable[[str], str]) -> str:
        """`bind <uid> <node>`, or a verb and a path."""
        verb, _, rest = call.partition(" ")
        if verb == "bind":
            uid, _, node = rest.partition(" ")
            return f"{verb} {uid} {told(node)}"
        parts = rest.split("/")
        start = 3 if parts[1:2] == ["api"] else 4
        if parts[start : start + 1] == ["namespaces"] and len(parts) > start + 2:
            parts[start + 1] = told(parts[start + 1])
            start += 2
        if len(parts) > start + 1:
            parts[start + 1] = told(parts[start + 1])
        return f"{verb} {'/'.join(parts)}"

    def _text(self, text: str) -> str:
        """A sentence: whatever in it is a name, or made of names, and no plain word."""
        return _IN_TEXT.sub(lambda found: self._in_text(found[0]), text)

    def _in_text(self, found: str) -> str:
        parts = found.split("/")
        plain = found.isalpha() or any(found.endswith(each) for each in _API_DOMAINS)
        return self._rename(found) if not plain and all(part in self._whole for part in parts) else found


def _code(number: int, width: int) -> str:
    letters = []
    for _ in range(width):
        number, letter = divmod(number, _LETTERS)
        letters.append(chr(ord("a") + letter))
    return "".join(reversed(letters))
