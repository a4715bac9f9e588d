"""The values of the chart: their defaults, what the schema says of them, and what the README says."""

import json
from collections.abc import Iterator
from typing import Any

import yaml

from muster.framework.config import (
    ClientConnectionConfiguration,
    ExtenderConfig,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
    LeaderElectionConfiguration,
)
from tests.deploy.helm import CHART

VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
# Kubernetes' own kinds and a configuration of its own: one value each, whatever is in them.
WHOLE = {"config", "scheduler.resources", "scheduler.podSecurityContext", "scheduler.securityContext"}


def leaves(values: dict[str, Any], schema: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Dotted name, default and description of every value."""
    for name, value in values.items():
        path, known = prefix + name, schema["properties"][name]
        if value and "properties" in known and path not in WHOLE:
            yield from leaves(value, known, f"{path}.")
        else:
            yield path, value, known["description"]


def objects(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every part of the schema that describes an object with named fields."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield path, schema
        for name, part in schema.items():
            yield from objects(part, f"{path}/{name}")


def fields(model: type[Any]) -> set[str]:
    """The names of a model's fields in YAML."""
    return {field.alias or name for name, field in model.model_fields.items()}


def test_the_readme_has_a_row_for_every_value() -> None:
    rows = [f"| `{path}` | `{json.dumps(value)}` | {text} |" for path, value, text in leaves(VALUES, SCHEMA)]
    _, _, table = (CHART / "README.md").read_text().partition("| value | default | meaning |\n| --- | --- | --- |\n")
    assert table.splitlines() == rows


def test_every_value_that_the_schema_knows_has_a_default() -> None:
    known = {
        f"{section}.{name}" if name else section
        for section, part in SCHEMA["properties"].items()
        for name in (part.get("properties", [""]) if section not in WHOLE else [""])
    }
    assert known - {path for path, _, _ in leaves(VALUES, SCHEMA)} == {"controller", "global"}


def test_the_schema_refuses_what_it_does_not_know_wherever_it_names_fields() -> None:
    lax = [path for path, part in objects(SCHEMA) if part.get("additionalProperties") is not False]
    assert lax == ["/properties/config/properties/profiles/items"]


def test_config_takes_every_field_of_the_configuration_that_muster_reads() -> None:
    known = SCHEMA["properties"]["config"]["properties"]
    assert set(known) == fields(KubeSchedulerConfiguration)
    assert set(known["extenders"]["items"]["properties"]) == fields(ExtenderConfig)
    assert set(known["extenders"]["items"]["properties"]["tlsConfig"]["properties"]) == fields(ExtenderTLSConfig)
    assert set(known["leaderElection"]["properties"]) == fields(LeaderElectionConfiguration)
    assert set(known["clientConnection"]["properties"]) == fields(ClientConnectionConfiguration)


def test_the_chart_has_the_version_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = (CHART.parents[1] / "pyproject.toml").read_text()
    assert f'\nversion = "{chart["appVersion"]}"\n' in project
