"""The manifests of this folder, as a test puts them on a cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "manifests"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


@dataclass(frozen=True, slots=True)
class Manifests:
    """What one operator creates: a PodGroup, and pods in the order of their creation."""

    group: dict[str, Any]
    pods: Sequence[dict[str, Any]]

    @property
    def name(self) -> str:
        """The group's name."""
        name: str = self.group["metadata"]["name"]
        return name


def manifests(name: str, *, namespace: str = "default") -> Manifests:
    """The manifests in the file of this name, in a namespace."""
    documents = list(yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text()))
    for document in documents:
        document["metadata"]["namespace"] = namespace
    [group] = [document for document in documents if document["kind"] == "PodGroup"]
    return Manifests(group, [document for document in documents if document["kind"] == "Pod"])
