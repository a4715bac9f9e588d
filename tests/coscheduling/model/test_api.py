"""PodGroups as they are read and patched."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given

from muster.plugins.coscheduling.api import PodGroup, PodGroupStatus
from muster.plugins.coscheduling.reporting import status_patch

from .situations import statuses


def stored(**status: Any) -> PodGroup:
    metadata = {"name": "train", "namespace": "ml", "uid": "u1", "resourceVersion": "41", "generation": 2}
    spec = {"minMember": 3, "minResources": {"cpu": 3}, "scheduleTimeoutSeconds": 0}
    body = {"metadata": metadata | {"managedFields": [{"manager": "x"}]}, "spec": spec, "status": status}
    return read(msgspec.json.encode(body))


def read(body: bytes) -> PodGroup:
    return msgspec.json.decode(body, type=PodGroup)


def test_a_group_is_read_as_it_is_stored() -> None:
    group = stored(phase="Running", running=3, anotherSchedulers="field")
    assert (group.key, group.metadata.uid, group.metadata.generation) == ("ml/train", "u1", 2)
    assert (group.spec.min_member, group.spec.schedule_timeout_seconds) == (3, 0)
    assert group.read_status() == PodGroupStatus(phase="Running", running=3)


def test_a_group_may_have_neither_spec_nor_status() -> None:
    group = read(b'{"metadata": {"name": "train", "namespace": "ml"}}')
    assert (group.spec.min_member, group.spec.schedule_timeout_seconds) == (0, None)
    assert group.read_status() == PodGroupStatus()


def test_an_object_without_metadata_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        read(b'{"spec": {}}')


def test_a_status_that_can_not_be_read_counts_as_empty() -> None:
    assert stored(running="three").read_status() == PodGroupStatus()


def test_a_group_keeps_its_status_and_not_the_answer_that_it_came_with() -> None:
    answer = bytearray(msgspec.json.encode([{"metadata": {"name": "a"}, "status": {"phase": "Running"}}]))
    [group] = msgspec.json.decode(answer, type=list[PodGroup])
    answer[:] = b"x" * len(answer)
    assert group.read_status().phase == "Running"


def patched(group: PodGroup, after: PodGroupStatus) -> bytes | None:
    return status_patch(group, group.read_status(), after)


def test_a_patch_holds_what_changed_and_for_which_version() -> None:
    body = patched(stored(phase="Running", running=3, scheduled=3), PodGroupStatus("Running", running=2, scheduled=3))
    assert body is not None
    assert json.loads(body) == {"metadata": {"resourceVersion": "41"}, "status": {"running": 2}}


def test_a_patch_takes_away_what_is_no_longer_there() -> None:
    said = {"type": "Scheduled", "status": "True"}
    body = patched(stored(phase="Running", conditions=[said]), PodGroupStatus(phase="Running"))
    assert body is not None
    assert json.loads(body)["status"] == {"conditions": None}


@given(statuses)
def test_a_group_that_has_the_status_is_not_patched(status: PodGroupStatus) -> None:
    assert patched(stored(**msgspec.to_builtins(status)), status) is None


@given(statuses, statuses)
def test_a_patched_group_has_the_status(before: PodGroupStatus, after: PodGroupStatus) -> None:
    fields = msgspec.to_builtins(before)
    body = patched(stored(**fields), after)
    changed = fields | (json.loads(body)["status"] if body else {})
    kept = {name: value for name, value in changed.items() if value is not None}
    assert stored(**kept).read_status() == after
