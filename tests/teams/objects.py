"""Teams and their pods in the API's JSON shape, and a configuration that runs the plugin."""

from typing import Any

from muster.testing import configuration_of
from tests.builders import make_pod

from .plugin import LABEL

CONFIGURATION = configuration_of(["Teams"])
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "teams.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Team", "listKind": "TeamList", "plural": "teams", "singular": "team"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        ],
    },
}


def team(name: str, size: int, **status: str) -> dict[str, Any]:
    """A Team."""
    return {
        "apiVersion": "example.com/v1",
        "kind": "Team",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"size": size},
        **({"status": status} if status else {}),
    }


def players(name: str, count: int) -> list[dict[str, Any]]:
    """Its pods."""
    pods = (make_pod(f"{name}-{number}") for number in range(count))
    labelled = (pod.labels({LABEL: name}).requests(cpu="1") for pod in pods)
    return [{"apiVersion": "v1", "kind": "Pod", **pod} for pod in labelled]
