"""The custom resource definition of ElasticQuotas, as scheduler-plugins has it, with columns for what is guaranteed.

`deploy/crds/` contains the output of this module. After a change run, in the repository's root:

    python -m muster.plugins.capacityscheduling.definition > deploy/crds/scheduling.x-k8s.io_elasticquotas.yaml
    python -m deploy.render

The second command copies the file into the chart.
"""

from __future__ import annotations

import sys
from typing import Any

import yaml

from .api import GROUP, KIND, PLURAL, SHORT_NAMES, VERSION, ElasticQuota, ElasticQuotaSpec, ElasticQuotaStatus

_APPROVED = "https://github.com/kubernetes-sigs/scheduler-plugins/pull/52"
"""Kubernetes reserves the API group's domain and wants to know where the API was approved."""

_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_COLUMNS = (
    ("Used", "string", ".status.used"),
    ("Min", "string", ".spec.min"),
    ("Max", "string", ".spec.max"),
    ("Age", "date", ".metadata.creationTimestamp"),
)


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
                    "additionalPrinterColumns": [
                        {"name": name, "type": kind, "jsonPath": path} for name, kind, path in _COLUMNS
                    ],
                    "schema": {"openAPIV3Schema": schema()},
                }
            ],
        },
    }


def schema() -> dict[str, Any]:
    """The structural schema of an ElasticQuota: what the API server accepts, and keeps."""
    spec = {
        "min": _amounts("What the namespace is guaranteed. Others may borrow what it does not use."),
        "max": _amounts("The most that the namespace may use. A resource that is not named is not limited."),
    }
    status = {"used": _amounts("The total requests of the pods of the namespace that have nodes.")}
    return {
        "description": _about(ElasticQuota),
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": {"description": _about(ElasticQuotaSpec), "properties": spec, "type": "object"},
            "status": {"description": _about(ElasticQuotaStatus), "properties": status, "type": "object"},
        },
        "type": "object",
    }


def _amounts(description: str) -> dict[str, Any]:
    return {
        "additionalProperties": {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": _QUANTITY,
            "x-kubernetes-int-or-string": True,
        },
        "description": description,
        "type": "object",
    }


def _about(part: type) -> str:
    return (part.__doc__ or "").partition("\n")[0]


if __name__ == "__main__":
    yaml.safe_dump(definition(), sys.stdout, sort_keys=False, width=120)
