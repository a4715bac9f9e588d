"""Every object is decoded or refused, and a refusal names the field to blame, in the API's words."""

import logging
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.config import ConfigurationError
from muster.framework.contract import WatchedKind
from muster.framework.model.faults import fault
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.explain import explain
from muster.operator.explain.cases import CaseError, decide
from muster.operator.explain.frozen_engine import frozen_engine
from muster.operator.process.settings import assemble, muster_configuration
from muster.plugins.catalog import IN_TREE
from muster.testing import make_node, make_pod
from tests.python_words import PYTHON
from tests.security.test_fuzzed_input import MANY, VALUES, changed, encoded

from .readers import decoded
from .wire import EXAMPLES, OBJECTS, accepted, fields, fitting, holding, least, type_info

TYPES, OPEN = decoded()
DISTINCT = {str(kind): (name, kind) for name, kind in sorted(TYPES.items(), reverse=True)}.values()
EACH = pytest.mark.parametrize("kind", [kind for _, kind in DISTINCT], ids=[name for name, _ in DISTINCT])
KINDS = dict.fromkeys(kind for plugin in IN_TREE.values() for kind in plugin.watches)
ASSEMBLY = assemble(muster_configuration())
HERE = msgspec.convert(make_node("n").zone("east"), Node)
CASE = {"id": "one", "pod": make_pod("p").requests(cpu="1"), "objects": [make_node("n")]}
ASKING = msgspec.convert(make_pod("asking").requests(cpu="1"), Pod)


def problem(kind: Any, document: Any) -> str:
    """What is wrong with a document, "" for one that fits."""
    try:
        msgspec.json.decode(encoded(document), type=kind)
    except msgspec.DecodeError as error:
        return fault(error)
    return ""


def required(type_: Any) -> set[str]:
    return {field.encode_name for field in type_.fields if field.required} if isinstance(type_, OBJECTS) else set()


def test_every_decoder_is_listed_with_its_type_or_decodes_a_listed_type() -> None:
    """A reader whose type only its caller knows is given a watched kind, or one that the caller's own reader names."""
    assert {
        "framework.config.args.table: _without_type(value)",
        "framework.config.decoding: rest",
        "framework.model.meta: kind",
        "operator.explain.cases: kind",
        "operator.explain.cases: kind.type",
        "operator.explain.reading: kind.objects.type",
        "operator.explain.reading: kind.type",
        "operator.kube.extender_wire: type | None",
        "operator.kube.frames: frame[kind]",
        "operator.kube.frames: kind",
        "operator.kube.frames: page[kind]",
        "operator.kube.informer: resource.type",
        "operator.kube.listing: kind",
        "operator.kube.listing: resource.type",
        "operator.podgroups.hold_writer: first.type",
        "operator.podgroups.hold_writer: kind.type",
        "operator.process.informers: kind.type",
        "operator.recording.replay: self._kinds[event.kind]",
        "operator.simulate.live: kind.type",
        "operator.simulate.manifests: kind.type",
        "operator.simulate.stored: self._kinds[resource].type",
        "operator.simulate.workload_groups: kind.objects.type",
        "operator.web.remote_cluster: kind.type",
        "operator.web.remote_cluster: listed.type",
    } == OPEN
    assert len(DISTINCT) > 40


@EACH
def test_a_field_of_another_type_is_named(kind: Any) -> None:
    whole = type_info(kind)
    assert problem(kind, least(whole)) == ""
    for path, type_, way in fields(whole):
        assert problem(kind, holding(least(type_), way)) == "", path
        for name in EXAMPLES.keys() - accepted(type_):
            said = problem(kind, holding(EXAMPLES[name], way))
            assert said.startswith(f"{path}: must be of type "), (path, said)
            assert said.endswith(f", not {name}")
            assert not PYTHON.search(said)


@EACH
def test_a_field_that_is_missing_is_named(kind: Any) -> None:
    for path, _, way in fields(type_info(kind)):
        struct, name = way[-1]
        if isinstance(struct, msgspec.inspect.StructType) and any(
            f.required and f.encode_name == name for f in struct.fields
        ):
            without = {field: value for field, value in least(struct).items() if field != name}
            assert problem(kind, holding(without, way[:-1])) == f"{path}: Required value"


@EACH
def test_any_document_is_read_or_refused(kind: Any) -> None:
    @MANY
    @given(fitting(type_info(kind)).flatmap(changed) | VALUES)
    def check(document: Any) -> None:
        assert not PYTHON.search(without_texts(problem(kind, document)))

    check()


@pytest.mark.parametrize("kind", [Pod, Node, *KINDS], ids=lambda kind: getattr(kind, "resource", None) or kind.__name__)
def test_the_scheduler_lives_with_all_that_an_api_server_lets_through(
    kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """No handler, no plugin breaks; what keeps a pod from being decided is a status in words."""
    decoded_as: Any = kind.type if isinstance(kind, WatchedKind) else kind

    @MANY
    @given(fitting(type_info(decoded_as)))
    def check(document: dict[str, Any]) -> None:
        caplog.clear()
        obj = msgspec.json.decode(encoded(document), type=decoded_as)
        pods = [obj] if kind is Pod else []
        nodes = [HERE, obj] if kind is Node else [HERE]
        engine = frozen_engine(ASSEMBLY, nodes, pods, {kind: [obj]} if isinstance(kind, WatchedKind) else {})
        pod = PodInfo(obj if kind is Pod else ASKING)
        explained = explain(engine.algorithms[ASSEMBLY.profiles[0].scheduler_name], pod)
        said = [explained.prefilter, *explained.rejected.values()]
        reasons = [reason for status in said if status is not None for reason in status.reasons]
        assert not [reason for reason in reasons if PYTHON.search(without_texts(reason))]
        assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []

    check()


@MANY
@given(
    changed({"id": "one", "pod": make_pod("p").requests(cpu="1"), "objects": [make_node("n")]}).map(encoded)
    | st.binary(max_size=40)
)
def test_a_case_is_decided_or_refused_with_its_line_and_field(line: bytes) -> None:
    try:
        [*decide([line.replace(b"\n", b" ")], "cases.jsonl")]
    except (CaseError, ConfigurationError) as error:
        said = str(error)
        assert said.startswith(("cases.jsonl: line 1: ", "config: "))
        assert not PYTHON.search(without_texts(said))


def without_texts(said: str) -> str:
    """What was said, less the values in it, which may spell anything."""
    return re.sub(r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]', "", said)
