"""ElasticQuotas for these tests, in the API's own JSON shape."""

from collections.abc import Mapping
from typing import Any

import msgspec

from muster.plugins.capacityscheduling.api import PARENT, WEIGHT, ElasticQuota

NONE: Mapping[str, str] = {}


def make_quota(
    namespace: str,
    *,
    min: Mapping[str, object] = NONE,
    max: Mapping[str, object] | None = None,
    name: str = "quota",
    parent: str = "",
    weight: str = "",
    created: str = "2026-01-01T00:00:00Z",
) -> dict[str, Any]:
    """The quota of a namespace; an annotation that is "" is absent, and so is a `max` that is None."""
    annotations = {key: text for key, text in ((PARENT, parent), (WEIGHT, weight)) if text}
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"quota-{namespace}-{name}",
            "creationTimestamp": created,
            "annotations": annotations,
        },
        "spec": {"min": {**min}} | ({} if max is None else {"max": {**max}}),
    }


def quota(namespace: str, **fields: Any) -> ElasticQuota:
    """The quota as the informer decodes it."""
    return msgspec.convert(make_quota(namespace, **fields), ElasticQuota)
