"""Schedules a pod and a gang of two, and says what became of each: the program of `helm test`.

It runs in Muster's image, and the pods that it makes run that image too, so nothing else is pulled. They are scheduled
when they have a node; whether they then start is the kubelet's affair. All of them are deleted at the end. The exit
code is 0 if everything was scheduled. The environment names what the chart knows: NAMESPACE, SCHEDULER, SECONDS (to
wait, at most) and POD_SPEC (the spec of the pods, as JSON).
"""

import json
import os
import secrets
import sys
import time
from collections.abc import Callable
from http import HTTPStatus

from kubernetes import client, config

GROUP, VERSION, PLURAL = "scheduling.x-k8s.io", "v1alpha1", "podgroups"
MEMBERS = 2

namespace = os.environ["NAMESPACE"]
name = f"muster-test-{secrets.token_hex(3)}"
single, gang = f"{name}-single", f"{name}-gang"
members = [f"{gang}-{number}" for number in range(MEMBERS)]


def run() -> int:
    """Makes the pods, waits for them, deletes them; returns the exit code."""
    config.load_config()
    core, custom = client.CoreV1Api(), client.CustomObjectsApi()
    deadline = time.monotonic() + float(os.environ["SECONDS"])
    try:
        create(core, custom)
        while (missing := lacking(core, custom)) and time.monotonic() < deadline:
            time.sleep(1)
    except client.ApiException as error:
        print(f"the API server refused: {error.status} {error.reason}: {error.body}")
        return 1
    finally:
        delete(core, custom)
    print("\n".join(missing) or f"a pod and a gang of {MEMBERS} were scheduled")
    return 1 if missing else 0


def create(core: client.CoreV1Api, custom: client.CustomObjectsApi) -> None:
    spec = {**json.loads(os.environ["POD_SPEC"]), "schedulerName": os.environ["SCHEDULER"]}
    core.create_namespaced_pod(namespace, {"metadata": {"name": single}, "spec": spec})
    group = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "PodGroup", "metadata": {"name": gang}}
    custom.create_namespaced_custom_object(GROUP, VERSION, namespace, PLURAL, {**group, "spec": {"minMember": MEMBERS}})
    for member in members:
        metadata = {"name": member, "labels": {f"{GROUP}/pod-group": gang}}
        core.create_namespaced_pod(namespace, {"metadata": metadata, "spec": spec})


def lacking(core: client.CoreV1Api, custom: client.CustomObjectsApi) -> list[str]:
    """What is not scheduled, a line each, with what is said of it."""
    lines = []
    for pod in (single, *members):
        read = core.read_namespaced_pod(pod, namespace)
        if not read.spec.node_name:
            said = [each.message for each in read.status.conditions or () if each.type == "PodScheduled"]
            lines.append(f"pod {pod} has no node: {said[0] if said else 'no scheduler has said anything of it'}")
    status = custom.get_namespaced_custom_object(GROUP, VERSION, namespace, PLURAL, gang).get("status", {})
    if status.get("scheduled") != MEMBERS:
        lines.append(f"podgroup {gang} has {status.get('scheduled', 0)} of {MEMBERS} pods scheduled")
    return lines


def delete(core: client.CoreV1Api, custom: client.CustomObjectsApi) -> None:
    for pod in (single, *members):
        ignore_missing(core.delete_namespaced_pod, pod, namespace)
    ignore_missing(custom.delete_namespaced_custom_object, GROUP, VERSION, namespace, PLURAL, gang)


def ignore_missing(delete_object: Callable[..., object], *arguments: str) -> None:
    try:
        delete_object(*arguments)
    except client.ApiException as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise


if __name__ == "__main__":
    sys.exit(run())
