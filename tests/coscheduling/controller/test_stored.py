"""PodGroups as they are read and patched."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given

from muster.operator.podgroups.stored import StoredGroup, patch, read
from muster.plugins.coscheduling.model import PodGroupStatus

from ..model.situations import statuses
from .groups import pod_group


def stored(**status: Any) -> StoredGroup:
    body = pod_group(minResources={"cpu": 3}, scheduleTimeoutSeconds=0)
    body["metadata"] |= {"uid": "u1", "resourceVersion": "41", "generation": 2, "managedFields": [{"manager": "x"}]}
    return read(msgspec.json.encode(body | {"status": status}))


def test_a_group_is_read_as_it_is_stored() -> None:
    group = stored(phase="Running", running=3, anotherSchedulers="field")
    assert (group.key, group.uid, group.version, group.generation) == ("ml/train", "u1", "41", 2)
    assert (group.min_member, group.timeout_seconds) == (3, 0)
    assert group.status() == PodGroupStatus(phase="Running", running=3)
    assert group.status_path == "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ml/podgroups/train/status"


def test_a_group_may_have_neither_spec_nor_status() -> None:
    group = read(b'{"metadata": {"name": "train", "namespace": "ml"}}')
    assert (group.min_member, group.timeout_seconds, group.status()) == (0, None, PodGroupStatus())


def test_what_is_no_group_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        read(b'{"metadata": {}}')


def test_a_status_that_can_not_be_read_counts_as_empty() -> None:
    assert stored(running="three").status() == PodGroupStatus()


def test_an_event_names_the_group_but_not_its_version() -> None:
    assert msgspec.to_builtins(stored().reference) == {
        "kind": "PodGroup",
        "namespace": "ml",
        "name": "train",
        "uid": "u1",
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    }


def test_a_patch_holds_what_changed_and_for_which_version() -> None:
    group = stored(phase="Running", running=3, scheduled=3)
    body = patch(group, PodGroupStatus(phase="Running", running=2, scheduled=3))
    assert body is not None
    assert json.loads(body) == {"metadata": {"resourceVersion": "41"}, "status": {"running": 2}}


def test_a_patch_takes_away_what_is_no_longer_there() -> None:
    said = {"type": "Scheduled", "status": "True"}
    body = patch(stored(phase="Running", conditions=[said]), PodGroupStatus(phase="Running"))
    assert body is not None
    assert json.loads(body)["status"] == {"conditions": None}


@given(statuses)
def test_a_group_that_has_the_status_is_not_patched(status: PodGroupStatus) -> None:
    assert patch(stored(**status.model_dump(by_alias=True, exclude_none=True)), status) is None


@given(statuses, statuses)
def test_a_patched_group_has_the_status(before: PodGroupStatus, after: PodGroupStatus) -> None:
    fields = before.model_dump(by_alias=True, exclude_none=True)
    body = patch(stored(**fields), after)
    changed = fields | (json.loads(body)["status"] if body else {})
    kept = {name: value for name, value in changed.items() if value is not None}
    assert stored(**kept).status() == after
