"""Any manifest is understood, or refused with its source, the object and the field."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from muster.operator.process.settings import assemble, muster_configuration
from muster.operator.simulate.manifests import ManifestError, read
from muster.testing import make_node, make_pod
from tests.model.test_fuzzed_kinds import without_texts
from tests.python_words import PYTHON
from tests.security.test_fuzzed_input import MANY, changed, places

EXAMPLES = Path(__file__).parents[2] / "deploy" / "examples"
TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}
CLAIM = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
GANG: Any = {"schedulingPolicy": {"gang": {}}}
OVERHEAD = {"overhead": {"podFixed": {"cpu": "1"}}, "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{}]}}
LIMITS = [{"type": "Container", "default": {"cpu": "1"}}]
BOUNDS = [
    {"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "2"}},
    {"type": "Pod", "max": {"cpu": "3"}},
]
NEW: Any = {"kind": "Pod", "metadata": {"name": "new"}, "spec": {"runtimeClassName": "r", **TEMPLATE["spec"]}}
SET = {"replicas": 2, "volumeClaimTemplates": [CLAIM], "template": TEMPLATE}
DOCUMENTS: list[Any] = [
    make_pod("p").requests(cpu="1"),
    make_node("n").zone("east"),
    {"kind": "List", "items": [make_pod("listed")]},
    {"kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": LIMITS}},
    {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 5, "globalDefault": True},
    {"kind": "RuntimeClass", "metadata": {"name": "r"}, "handler": "x", "overhead": {"podFixed": {"cpu": "1"}}},
    {"kind": "List", "items": [{"kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": BOUNDS}}, NEW]},
    {"kind": "List", "items": [{"kind": "RuntimeClass", "metadata": {"name": "r"}, "handler": "x", **OVERHEAD}, NEW]},
    {"kind": "Job", "metadata": {"name": "j"}, "spec": {"parallelism": 2, "scheduling": GANG, "template": TEMPLATE}},
    {"kind": "StatefulSet", "metadata": {"name": "s"}, "spec": SET},
    *(each for path in sorted(EXAMPLES.rglob("*.yaml")) for each in yaml.safe_load_all(path.read_text()) if each),
]
ASSEMBLY = assemble(muster_configuration())
WATCHED = sorted(ASSEMBLY.kinds_to_read(), key=lambda kind: kind.resource)
NAMED = re.compile(
    r"file\.yaml: (not a Kubernetes object: |Object 'Kind' is missing in |yaml: "
    r"|([^:]* )?[^:]*: ([a-zA-Z][^ :]*: |strict decoding error: |.* is forbidden: )|[a-zA-Z][^ :]*: )",
    re.DOTALL,
)


@st.composite
def shortened(draw: st.DrawFn, document: Any) -> Any:
    """The document without one to three of its fields."""
    whole = json.loads(json.dumps(document))
    for _ in range(draw(st.integers(1, 3))):
        fields = [place for place in places(whole) if place and isinstance(place[-1], str)]
        if fields:
            *way, last = draw(st.sampled_from(fields))
            inner = whole
            for step in way:
                inner = inner[step]
            del inner[last]
    return whole


def refusal(text: str) -> str:
    try:
        read(text, "file.yaml", WATCHED, kinds=ASSEMBLY.groups)
    except ManifestError as error:
        return str(error)
    return ""


@MANY
@given(st.sampled_from(DOCUMENTS).flatmap(lambda document: changed(document) | shortened(document)))
def test_a_refused_manifest_is_named(document: Any) -> None:
    for text in (json.dumps(document), yaml.safe_dump(document)):
        said = refusal(text)
        assert not said or NAMED.match(said)
        assert not PYTHON.search(without_texts(said))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: [Pod]", "file.yaml: kind: must be of type string, not array"),
        ("kind: Pod\nmetadata: []", "file.yaml: Pod: metadata: must be of type object, not array"),
        ("kind: Pod\nspec: [{}]", "file.yaml: Pod: spec: must be of type object, not array"),
        ("apiVersion: v2\nkind: Pod\nspec: [{}]", "file.yaml: Pod: spec: must be of type object, not array"),
        (
            "kind: Job\nmetadata: {name: j}\nspec: {template: 5}",
            "file.yaml: Job j: spec.template: must be of type object, not integer",
        ),
        (
            "kind: Pod\nmetadata: {name: p}\nspec: {containers: [null]}",
            "file.yaml: Pod p: spec.containers[0]: must be of type object, not null",
        ),
        (
            "kind: Pod\nmetadata: {name: p}\nspec: {volumes: [{ephemeral: {}}]}",
            "file.yaml: Pod p: spec.volumes[0].name: Required value",
        ),
        (
            "kind: StatefulSet\nmetadata: {name: s}\nspec: {volumeClaimTemplates: [{}]}",
            "file.yaml: StatefulSet s: spec.volumeClaimTemplates[].metadata.name: Required value",
        ),
        (
            "kind: Pod\nmetadata: {name: p}\nspec: {priority: 3000000000}",
            "file.yaml: Pod p: spec.priority: must be less than or equal to 2147483647",
        ),
        (
            f"kind: Node\nmetadata: {{name: one}}\nstatus: {{allocatable: {{cpu: {10**30}}}}}",
            "file.yaml: Node one: status.allocatable[...]: must be less than or equal to 9223372036854775807",
        ),
        (
            "kind: Pod\nmetadata: {name: p, creationTimestamp: yesterday}",
            'file.yaml: Pod p: metadata.creationTimestamp: must be a time as RFC 3339 has it: "yesterday"',
        ),
        ("5\n...", "file.yaml: not a Kubernetes object: 5"),
        ('{"kind": "Pod"} x', "file.yaml: yaml: line 1: "),
    ],
)
def test_faults_that_were_found_once(text: str, said: str) -> None:
    assert refusal(text).startswith(said)


def test_a_time_that_is_not_quoted_is_a_time() -> None:
    text = "kind: Pod\nmetadata: {name: p, creationTimestamp: 2026-11-23T10:00:00Z, labels: {on: yes}}"
    assert "labels[...]: must be of type string, not boolean" in refusal(text)
    (pod,) = read(text.replace("yes", "'yes'"), "file.yaml").pods
    assert pod.metadata.creation_timestamp == "2026-11-23T10:00:00Z"
