"""The custom resource definition of PodGroups, rendered from the structs of the API.

`deploy/crds/` contains the output of this module. After a change of the structs run, in the repository's root:

    python -m muster.plugins.coscheduling.definition > deploy/crds/scheduling.x-k8s.io_podgroups.yaml
    python -m deploy.render

The second command copies the file into the chart.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec
import yaml

from .api import (
    GROUP,
    KIND,
    PLURAL,
    SCHEDULED,
    SHORT_NAMES,
    VERSION,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
)

_APPROVED = "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"
"""Kubernetes reserves the API group's domain and wants to know where the API was approved."""

_WIDE = 1
_CONDITION = f'.status.conditions[?(@.type=="{SCHEDULED}")]'
_COLUMNS = (
    ("Phase", "string", ".status.phase", 0),
    ("MinMember", "integer", ".spec.minMember", 0),
    ("Scheduled", "integer", ".status.scheduled", 0),
    ("Running", "integer", ".status.running", 0),
    ("Succeeded", "integer", ".status.succeeded", 0),
    ("Failed", "integer", ".status.failed", 0),
    ("Age", "date", ".metadata.creationTimestamp", 0),
    ("Reason", "string", f"{_CONDITION}.reason", _WIDE),
    ("Message", "string", f"{_CONDITION}.message", _WIDE),
)
_DROPPED = frozenset({"$defs", "default", "title"})


def definition() -> dict[str, Any]:
    """The `CustomResourceDefinition`, as plain data."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}", "annotations": {"api-approved.kubernetes.io": _APPROVED}},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": list(SHORT_NAMES),
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(*column) for column in _COLUMNS],
                    "schema": {"openAPIV3Schema": schema()},
                }
            ],
        },
    }


def schema() -> dict[str, Any]:
    """The structural schema of a PodGroup: what the API server accepts, and keeps."""
    return {
        "description": (PodGroup.__doc__ or "").partition("\n")[0],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _schema_of(PodGroupSpec),
            "status": _schema_of(PodGroupStatus),
        },
        "type": "object",
    }


def _schema_of(part: type[msgspec.Struct]) -> Any:
    generated = msgspec.json.schema(part)
    return _structural(generated, generated["$defs"])


def _column(name: str, kind: str, path: str, priority: int) -> dict[str, Any]:
    return {"name": name, "type": kind, "jsonPath": path} | ({"priority": priority} if priority else {})


def _structural(node: Any, models: Mapping[str, Any]) -> Any:
    """A JSON schema as Kubernetes requires it: self-contained, and nullable fields are optional instead."""
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _structural(models[node["$ref"].rpartition("/")[2]] | rest, models)
    given = [choice for choice in node.get("anyOf", ()) if choice != {"type": "null"}]
    if len(given) == 1:
        rest = {key: value for key, value in node.items() if key != "anyOf"}
        return _structural(given[0] | rest, models)
    kept = {key: node[key] for key in sorted(node) if key not in _DROPPED and node[key] != []}
    if "properties" in kept:
        kept["properties"] = {name: _structural(child, models) for name, child in kept["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in kept:
            kept[key] = _structural(kept[key], models)
    return kept


if __name__ == "__main__":
    yaml.safe_dump(definition(), sys.stdout, sort_keys=False, width=120)
