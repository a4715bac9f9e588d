"""The custom resource definition is rendered from the models, and accepts what scheduler-plugins' own accepts."""

from pathlib import Path
from typing import Any

import yaml

from muster.plugins.coscheduling.definition import definition, schema

FILE = Path(__file__).parents[3] / "deploy" / "crds" / "scheduling.x-k8s.io_podgroups.yaml"

INT32 = {"type": "integer", "format": "int32"}
QUANTITY = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|"
    r"(\.[0-9]+))))?$",
    "x-kubernetes-int-or-string": True,
}


def without_descriptions(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: without_descriptions(value) for key, value in node.items() if key != "description"}
    return node


def test_the_deployed_definition_is_what_the_models_say() -> None:
    assert yaml.safe_load(FILE.read_text()) == definition()


def test_a_spec_has_the_fields_of_scheduler_plugins_and_refuses_a_negative_timeout_besides() -> None:
    spec = schema()["properties"]["spec"]
    assert without_descriptions(spec) == {
        "type": "object",
        "properties": {
            "minMember": INT32 | {"minimum": 1},
            "minResources": {"type": "object", "additionalProperties": QUANTITY},
            "scheduleTimeoutSeconds": INT32 | {"minimum": 0},
        },
    }


def test_a_status_has_all_fields_of_scheduler_plugins_and_requires_none() -> None:
    status = without_descriptions(schema()["properties"]["status"])
    assert "required" not in status
    theirs = {
        "phase": {"type": "string"},
        "occupiedBy": {"type": "string"},
        "running": INT32,
        "succeeded": INT32,
        "failed": INT32,
        "scheduleStartTime": {"type": "string", "format": "date-time"},
    }
    assert theirs.items() <= status["properties"].items()
    assert status["properties"].keys() - theirs.keys() == {"scheduled", "conditions", "observedGeneration"}


def test_the_names_equal_scheduler_plugins() -> None:
    made = definition()
    assert made["metadata"] == {
        "name": "podgroups.scheduling.x-k8s.io",
        "annotations": {
            "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50",
        },
    }
    assert made["spec"]["names"] == {
        "kind": "PodGroup",
        "listKind": "PodGroupList",
        "plural": "podgroups",
        "singular": "podgroup",
        "shortNames": ["pg", "pgs"],
    }


def test_every_field_is_described() -> None:
    def bare(node: dict[str, Any], path: str) -> list[str]:
        children = {f"{path}.{name}": child for name, child in node.get("properties", {}).items()}
        own = [] if "description" in node or path in (".apiVersion", ".kind", ".metadata") else [path]
        return own + [each for where, child in children.items() for each in bare(child, where)]

    assert bare(schema(), "") == []
