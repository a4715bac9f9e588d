"""The custom resource definition is rendered from the models, and accepts what scheduler-plugins' own accepts."""

from pathlib import Path

import yaml

from muster.plugins.capacityscheduling.definition import definition, schema

FILE = Path(__file__).parents[2] / "deploy" / "crds" / "scheduling.x-k8s.io_elasticquotas.yaml"

AMOUNTS = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|"
        r"(\.[0-9]+))))?$",
        "x-kubernetes-int-or-string": True,
    },
}


def test_the_deployed_definition_is_what_the_models_say() -> None:
    assert yaml.safe_load(FILE.read_text()) == definition()


def test_spec_and_status_have_the_fields_of_scheduler_plugins_and_require_none() -> None:
    for part, fields in (("spec", {"min", "max"}), ("status", {"used"})):
        found = schema()["properties"][part]
        assert "required" not in found
        assert found["properties"].keys() == fields
        for field in found["properties"].values():
            assert {key: value for key, value in field.items() if key != "description"} == AMOUNTS
            assert field["description"]


def test_the_names_equal_scheduler_plugins() -> None:
    made = definition()
    assert made["metadata"] == {
        "name": "elasticquotas.scheduling.x-k8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/52"},
    }
    assert made["spec"]["names"]["shortNames"] == ["eq", "eqs"]
    assert (made["spec"]["names"]["kind"], made["spec"]["scope"]) == ("ElasticQuota", "Namespaced")


def test_kubectl_prints_what_is_used_guaranteed_and_allowed() -> None:
    [version] = definition()["spec"]["versions"]
    assert [(column["name"], column["jsonPath"]) for column in version["additionalPrinterColumns"]] == [
        ("Used", ".status.used"),
        ("Min", ".spec.min"),
        ("Max", ".spec.max"),
        ("Age", ".metadata.creationTimestamp"),
    ]
