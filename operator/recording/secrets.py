"""The removal of confidential data that does not affect decisions from a recording.

The environment, commands and probes of pods are never decoded, so they cannot be written. Only annotations are written
that Muster's plugins read or that the user requested. The API's answers to plugins are filtered too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from muster.framework.model.names import PREFIX

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_READ = (
    PREFIX,
    "alpha.jobset.sigs.k8s.io/",
    "leaderworkerset.sigs.k8s.io/",
    "resource.kubernetes.io/",
    "topology.node.k8s.io/",
    "pv.kubernetes.io/",
    "storage.alpha.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "volume.kubernetes.io/",
)
"""The prefixes of annotations that affect decisions: of workloads, devices, NUMA reports, volumes, and of Muster."""
_SECRET = frozenset(
    {"env", "envFrom", "command", "args", "data", "stringData", "binaryData", "managedFields", "livenessProbe"}
    | {"readinessProbe", "startupProbe", "lifecycle"}
)


def without_secrets(body: bytes) -> str:
    """An answer of the API without secrets; empty if it is not an object."""
    try:
        document = json.loads(body)
    except ValueError:
        return ""
    return json.dumps(_reduced(document)) if isinstance(document, dict) else ""


def reduced(obj: Any, keep: Collection[str]) -> Any:
    """An object without secrets; `keep` are the requested annotations."""
    annotations = getattr(obj.metadata, "annotations", None)
    if not annotations:
        return obj
    kept = _kept(annotations, keep)
    if len(kept) == len(annotations):
        return obj
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, annotations=kept))


def _kept(annotations: Mapping[str, str], keep: Collection[str]) -> dict[str, str]:
    return {key: text for key, text in annotations.items() if key in keep or key.startswith(_READ)}


def _reduced(value: Any) -> Any:
    if isinstance(value, list):
        return [_reduced(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _kept(each, ()) if key == "annotations" and isinstance(each, dict) else _reduced(each)
        for key, each in value.items()
        if key not in _SECRET
    }
