"""Anonymous copies: they hold no name of the organisation, whatever it named, and replay to the same decisions."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from pydantic.alias_generators import to_camel

from muster.framework.config.model import KubeSchedulerConfiguration
from muster.framework.contract import Node, Pod
from muster.framework.contract.recorded import MapContent, TextKind
from muster.framework.contract.whole_nodes import WHOLE_NODES
from muster.operator.recording.events import FORMAT, AnyEvent, Began, ObjectAdded
from muster.operator.recording.fields import Fields, Member
from muster.operator.recording.names import anonymous_copy
from muster.operator.recording.reader import Recording, RecordingError
from muster.operator.recording.session import DECISIVE
from muster.operator.recording.words import Words
from muster.plugins.catalog import IN_TREE
from muster.testing import configuration_of
from tests.dynamicresources.objects import make_class

from .recorded import assembled, replayed
from .secret_names import RACK, SECRETS, SITUATIONS, SecretCluster

MEMBERS = Fields(IN_TREE.values()).members
KINDS = {kind.resource: kind.type for plugin in IN_TREE.values() for kind in plugin.watches}
KINDS |= {"pods": Pod, "nodes": Node}
EVERY = ("Coscheduling", "AutoPodGroups", "NodeResourceTopologyMatch", "PreemptionTiming")
"""With the default plugins, those that watch all of these kinds."""


@pytest.mark.parametrize("name", SITUATIONS)
async def test_a_copy_holds_no_name_and_replays_to_the_same_decisions(tmp_path: Path, name: str) -> None:
    path, copy = tmp_path / "recording", tmp_path / "copy"
    cluster = SecretCluster(path)
    cluster.racks()
    await cluster.run(1)
    for situation in SITUATIONS[name]:
        situation(cluster)
        await cluster.run(40)
    await cluster.run(400)
    recording = cluster.end()
    anonymous_copy(recording, copy, assembled())
    text = copy.read_text().lower()
    assert [secret for secret in SECRETS if secret in text] == []
    original = replayed(recording)
    assert original.exact, (original.own_way, original.broken_off)
    comparison = replayed(Recording(copy))
    assert comparison.exact, (comparison.own_way, comparison.broken_off, comparison.reworded)
    assert comparison.decisions == original.decisions > 5


def recorded_types() -> Iterator[type[Any]]:
    """All structs and models of which something is recorded."""
    waiting: list[type[Any]] = [*KINDS.values(), WHOLE_NODES.type, *get_args(AnyEvent)]
    waiting += [plugin.args_model for plugin in IN_TREE.values() if plugin.args_model is not None]
    seen: set[type[Any]] = set()
    while waiting:
        kind = waiting.pop()
        if kind not in seen:
            seen.add(kind)
            yield kind
            waiting += [member.inner for member in recorded(kind).values() if member.inner is not None]


def recorded(kind: type[Any]) -> Mapping[str, Member]:
    """The fields of it that are recorded: of the configuration those that decide."""
    kept = {to_camel(name) for name in DECISIVE} if kind is KubeSchedulerConfiguration else MEMBERS(kind)
    return {name: member for name, member in MEMBERS(kind).items() if name in kept}


def test_every_text_of_a_recording_has_listed_contents() -> None:
    kinds = [*recorded_types()]
    assert len(kinds) > 120
    fields = [(kind, name, member) for kind in kinds for name, member in recorded(kind).items() if member.texts]
    assert len(fields) > 250
    assert [f"{kind.__qualname__}.{name}" for kind, name, member in fields if member.content is None] == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_of_an_object_is_in_an_anonymous_copy(tmp_path: Path, kind: str) -> None:
    path, copy = tmp_path / "recording", tmp_path / "copy"
    plain = filled(KINDS[kind], 0)
    configuration = msgspec.yaml.decode(configuration_of(EVERY))
    head = Began(FORMAT, "v0", 0, 0, 0, configuration, tuple(KINDS))
    event = ObjectAdded(1, kind, msgspec.Raw(msgspec.json.encode(plain)))
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in (head, event)))
    assert json.dumps(plain).count("dormouse") > 3
    anonymous_copy(Recording(path), copy, assembled(plugins=EVERY))
    text = copy.read_text().lower()
    assert [secret for secret in SECRETS if secret in text] == []
    assert msgspec.json.decode(json.dumps(json.loads(copy.read_text().splitlines()[1])["object"]), type=KINDS[kind])


def filled(kind: type[Any], depth: int) -> dict[str, Any]:
    """An object with something chosen in every text that can be chosen."""
    found = {}
    for name, member in MEMBERS(kind).items():
        if member.texts or (member.inner is not None and depth < 12):
            found[name] = _filled(kind, name, member, depth)
    return {name: value for name, value in found.items() if value is not None}


def _filled(kind: type[Any], name: str, member: Member, depth: int) -> Any:
    field = next(field for field in msgspec.structs.fields(kind) if field.encode_name == name)
    content, hint = member.content, str(field.type)
    if isinstance(content, MapContent) or content is TextKind.ANNOTATIONS:
        chosen = isinstance(content, MapContent) and content.values is not TextKind.KEPT
        value = filled(member.inner, depth + 1) if member.inner is not None else "Marmot" if chosen else "1"
        return {"Lemur.example/Kestrel_x": value, "dormouse": value}
    if member.inner is not None:
        value = filled(member.inner, depth + 1)
    elif content is TextKind.ANYTHING:
        value = {"Ferret": ["gibbon", {"heron": 1}]}
    else:
        value = _CHOSEN.get(content if isinstance(content, TextKind) else None, "dormouse-9.Badger/ermine__ibex:v1")
    return [value] if "tuple" in hint else value


_CHOSEN: dict[TextKind | None, str] = {
    TextKind.KEPT: "2026-01-01T00:00:00Z",
    TextKind.TEXT: 'waiting for dormouse: "Badger" in {ermine: ibex}, Narwhal',
    TextKind.EXPRESSION: 'device.attributes["dormouse.example"].Badger == "ermine" && device.driver == "ibex"',
}


def test_names_sort_as_before_beside_keys_that_stay() -> None:
    names = ["zebra", "apple", "node-9", "node-10", "Node", "cpu", "cpus", "ab", "abc", "a-b", "1a", "2", "io", "web_1"]
    keys = ["topology.kubernetes.io/zone", "cpu", RACK, "acme.example/gpu", "memory", "kubernetes.io/arch", "zoo.io/x"]
    words = Words(frozenset())
    for _ in range(2):
        other_names, other_keys = [*map(words.name, names)], [*map(words.resource, keys)]
        words.settle()
    assert [other_names[names.index(name)] for name in sorted(names)] == sorted(other_names)
    assert [other_keys[keys.index(key)] for key in sorted(keys)] == sorted(other_keys)
    assert {key for key in keys if key in other_keys} == {"topology.kubernetes.io/zone", "cpu", "memory"} | {
        "kubernetes.io/arch"
    }
    assert {name for name in names if name in other_names} == {"2"}


def test_a_selector_that_goes_by_the_letters_of_names_is_named_and_refused(tmp_path: Path) -> None:
    cluster = SecretCluster(tmp_path / "recording")
    cluster.api.put("deviceclasses", make_class("fast", 'device.driver.startsWith("gpu")'))
    recording = cluster.end()
    with pytest.raises(RecordingError, match=r"DeviceClass /?fast: a selector calls startsWith\(\)"):
        anonymous_copy(recording, tmp_path / "copy", assembled())
    assert not (tmp_path / "copy").exists()
