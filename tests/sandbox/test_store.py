"""The store as callers in the same process use it."""

import itertools

import pytest

from muster.plugins.autopodgroups.api import JOB_SETS, LEADER_WORKER_SETS
from muster.plugins.catalog import IN_TREE, definitions
from muster.plugins.coscheduling.definition import definition
from muster.plugins.noderesourcetopology.api import TOPOLOGIES
from muster.sandbox import Sandbox, StatusError
from muster.sandbox.clock import Generators
from muster.sandbox.discovery import folder
from muster.sandbox.kinds import CUSTOM_RESOURCE_DEFINITIONS, EVENTS, EVENTS_V1, NAMESPACES, PODS, PRIORITY_CLASSES
from muster.sandbox.patching import MERGE
from muster.sandbox.selectors import parse
from tests.api_behaviour.objects import event, pod_group
from tests.builders import make_pod


def test_the_store_can_be_filled_before_the_server_starts() -> None:
    store = Sandbox().store

    created = store.create(PODS, make_pod("web"))

    assert created.obj["metadata"]["namespace"] == "default"
    assert store.get(PODS, "web", namespace="default") is created


def test_every_cluster_has_some_namespaces_and_priority_classes() -> None:
    store = Sandbox().store

    names = [[obj["metadata"]["name"] for obj in store.objects(kind)] for kind in (NAMESPACES, PRIORITY_CLASSES)]

    assert names == [
        ["default", "kube-node-lease", "kube-public", "kube-system"],
        ["system-cluster-critical", "system-node-critical"],
    ]


def test_time_uids_and_names_come_from_outside() -> None:
    numbers = itertools.count(1)
    sources = Generators(clock=lambda: 0.0, uid=lambda: f"uid-{next(numbers)}", suffix=lambda: "abcde")
    store = Sandbox(sources=sources).store

    first, second = (
        store.create(NAMESPACES, {"metadata": {"generateName": base}}).obj["metadata"] for base in ("one-", "two-")
    )

    assert (first["name"], first["creationTimestamp"]) == ("one-abcde", "1970-01-01T00:00:00Z")
    assert int(second["uid"].removeprefix("uid-")) == int(first["uid"].removeprefix("uid-")) + 1


def test_an_object_that_is_passed_in_is_not_changed() -> None:
    store = Sandbox().store
    pod = make_pod("web").limits(cpu="1")
    before = repr(pod)

    store.create(PODS, pod)

    assert repr(pod) == before


def test_an_object_that_was_returned_is_not_changed_by_later_writes() -> None:
    store = Sandbox().store
    created = store.create(PODS, make_pod("web"))
    before = created.whole

    patch = {"status": {"phase": "Running"}, "metadata": {"labels": {"a": "b"}}}
    store.patch(PODS, "web", patch, MERGE, namespace="default")

    assert (created.whole, created.obj["status"]["phase"]) == (before, "Pending")
    assert "labels" not in created.obj["metadata"]


def test_objects_are_selected() -> None:
    store = Sandbox().store
    for name, weight in (("light", "3"), ("heavy", "30"), ("odd", "much")):
        store.create(PODS, make_pod(name).labels(weight=weight))

    chosen = {
        text: [obj["metadata"]["name"] for obj in store.objects(PODS, selection=parse(PODS, labels=text))]
        for text in ("weight>3", "weight<10")
    }

    assert chosen == {"weight>3": ["heavy"], "weight<10": ["light"]}


def test_a_refusal_is_an_exception_with_a_status() -> None:
    with pytest.raises(StatusError, match=r'pods "web" not found') as refusal:
        Sandbox().store.get(PODS, "web", namespace="default")

    assert refusal.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'pods "web" not found',
        "reason": "NotFound",
        "details": {"name": "web", "kind": "pods"},
        "code": 404,
    }


def test_an_event_is_the_same_object_in_both_views() -> None:
    store = Sandbox().store
    store.create(EVENTS, event("a", "default"), namespace="default")

    old, new = (store.get(kind, "a", namespace="default") for kind in (EVENTS, EVENTS_V1))
    store.delete(EVENTS_V1, "a", namespace="default")

    assert old.revision == new.revision
    assert old.obj["message"] == new.obj["note"]
    assert store.find(EVENTS, "a", namespace="default") is None


def test_kinds_come_and_go_with_their_definitions() -> None:
    store = Sandbox([definition()]).store
    spec = definition()["spec"]
    kind = store.kinds.by_type("scheduling.x-k8s.io/v1alpha1", "PodGroup")
    assert kind is not None
    store.create(kind, pod_group("gang", minMember=2), namespace="default")

    store.delete(CUSTOM_RESOURCE_DEFINITIONS, "podgroups.scheduling.x-k8s.io")

    assert (kind.group, kind.resource, kind.kind, kind.version) == (
        spec["group"],
        spec["names"]["plural"],
        spec["names"]["kind"],
        spec["versions"][0]["name"],
    )
    assert (kind.singular, list(kind.short_names)) == (spec["names"]["singular"], spec["names"]["shortNames"])
    assert store.kinds.by_path(kind.group, kind.version, kind.resource) is None
    assert store.find(kind, "gang", namespace="default") is None


def test_every_kind_that_a_plugin_watches_is_served_except_kinds_of_other_projects() -> None:
    kinds = Sandbox(definitions(), native_groups=True).store.kinds
    watched = {kind.path for plugin in IN_TREE.values() for kind in plugin.watches}
    of_others = {JOB_SETS.path, LEADER_WORKER_SETS.path, TOPOLOGIES.path}

    assert watched - {f"{folder(kind)}/{kind.resource}" for kind in kinds} == of_others
