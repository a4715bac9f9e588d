"""The objects that the tests send, where the common builders make none."""

from typing import Any

Json = dict[str, Any]


def config_map(name: str, data: dict[str, str], **metadata: Any) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data}


def pod_group(name: str, **spec: Any) -> Json:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": spec,
    }


def binding(pod: str, node: str, **metadata: Any) -> Json:
    return {"metadata": {"name": pod, **metadata}, "target": {"kind": "Node", "name": node}}


def deployment(name: str, *containers: tuple[str, str], **spec: Any) -> Json:
    """A deployment whose pods have containers of these names and images."""
    pods = {"containers": [{"name": container, "image": image} for container, image in containers]}
    template = {"metadata": {"labels": {"app": name}}, "spec": pods}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def event(name: str, namespace: str, **fields: Any) -> Json:
    """An event about the pod `web`, as core/v1 has it."""
    involved = {"kind": "Pod", "name": "web", "namespace": namespace}
    common = {"involvedObject": involved, "reason": "Tested", "message": "it works", "type": "Normal"}
    return {"metadata": {"name": name}, **common, **fields}


def new_event(name: str, namespace: str, **fields: Any) -> Json:
    """An event about the pod `web`, as events.k8s.io/v1 has it."""
    return {
        "metadata": {"name": name},
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": namespace},
        "reason": "Tested",
        "note": "it works",
        "type": "Normal",
        "action": "Testing",
        "eventTime": "2026-01-01T00:00:00.123456Z",
        "reportingController": "muster",
        "reportingInstance": "muster-0",
        **fields,
    }
