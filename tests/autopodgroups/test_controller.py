"""The controller creates the groups that pods wait for, keeps their sizes, and reports what the API refuses."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import msgspec
import pytest

from muster.framework.contract import GroupKind
from muster.framework.groups import WorkloadGroup, WorkloadGroups
from muster.framework.groups.book import GroupBook
from muster.framework.model.meta import OwnerReference
from muster.framework.runtime.standstill import Standstill
from muster.framework.runtime.waiting_pods import PodsAtPermit
from muster.operator.kube.client import ApiClient, PatchType
from muster.operator.kube.errors import ApiError, Conflict, Fenced, Forbidden, NotFound
from muster.operator.kube.transport import Reply
from muster.operator.podgroups.worker import WorkerPorts
from muster.operator.podgroups.workload_groups import WorkloadGroupController
from muster.plugins.coscheduling.api import PodGroup
from muster.plugins.coscheduling.args import CoschedulingArgs
from muster.plugins.coscheduling.book import PodGroups
from muster.plugins.coscheduling.kind import POD_GROUP_KIND
from muster.plugins.gangscheduling.api import NativePodGroup
from muster.plugins.gangscheduling.book import NativePodGroups
from muster.plugins.gangscheduling.kind import NATIVE_POD_GROUP_KIND
from tests.clocks import SettlingClock
from tests.coscheduling.controller.groups import Recorder

KEY = "ml/job-train"
OWNER = OwnerReference(api_version="batch/v1", kind="Job", name="train", uid="u", controller=True)
CRD = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ml/podgroups"
NATIVE = "/apis/scheduling.k8s.io/v1beta1/namespaces/ml/podgroups"
METADATA: dict[str, Any] = {
    "name": "job-train",
    "labels": {"app.kubernetes.io/managed-by": "muster"},
    "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}],
}


class Wanted(WorkloadGroups):
    """What a plugin says: the sizes of groups, and which of these pods wait for."""

    def __init__(self, first: str = "scheduling.x-k8s.io") -> None:
        self.sizes: dict[str, int] = {}
        self.waiting: set[str] = set()
        self._first = first
        self._readers: list[Callable[[str], None]] = []

    def preference(self, api_group: str) -> int:
        return int(api_group != self._first)

    def subscribe(self, reader: Callable[[str], None]) -> None:
        self._readers.append(reader)

    def size(self, group: str) -> int | None:
        return self.sizes.get(group)

    def to_create(self, group: str) -> WorkloadGroup | None:
        return WorkloadGroup(self.sizes[group], OWNER, "urgent") if group in self.waiting else None

    def say(self, size: int, *, waiting: bool = True) -> None:
        """The group has to have this size."""
        self.sizes[KEY] = size
        if waiting:
            self.waiting.add(KEY)
        for reader in self._readers:
            reader(KEY)


class Client:
    """Notes what is written, and fails as asked."""

    def __init__(self) -> None:
        self.written: list[tuple[str, str, Any]] = []
        self.errors: list[ApiError | None] = []

    async def post(self, path: str, body: bytes) -> Reply:
        return self._write("POST", path, body)

    async def patch(self, path: str, body: bytes, *, kind: PatchType) -> Reply:
        assert kind is PatchType.MERGE
        return self._write("PATCH", path, body)

    def _write(self, verb: str, path: str, body: bytes) -> Reply:
        self.written.append((verb, path, json.loads(body)))
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        return Reply(201, body)

    @property
    def paths(self) -> list[tuple[str, str]]:
        return [(verb, path) for verb, path, _ in self.written]


class Stage:
    """A controller with all that it meets."""

    def __init__(self, first: str = "scheduling.x-k8s.io") -> None:
        self.wanted = Wanted(first)
        self.clock, self.client, self.recorder = SettlingClock(), Client(), Recorder()
        self.leads = True
        self.book = PodGroups(CoschedulingArgs(), self.clock, PodsAtPermit(Standstill()))
        self.native = NativePodGroups(self.clock)
        ports = WorkerPorts(cast("ApiClient", self.client), self.recorder, self.clock, leading=lambda: self.leads)
        kinds: list[tuple[GroupKind[Any], GroupBook[Any, Any]]]
        kinds = [(POD_GROUP_KIND, self.book), (NATIVE_POD_GROUP_KIND, self.native)]
        self.controller = WorkloadGroupController(self.wanted, kinds, ports)

    def see(
        self,
        size: int,
        *,
        owners: Any = METADATA["ownerReferences"],
        labels: Any = METADATA["labels"],
        version: str = "1",
    ) -> None:
        """The group is there, with this size, these owners and these labels."""
        metadata = {"name": "job-train", "namespace": "ml", "uid": "g", "ownerReferences": owners, "labels": labels}
        metadata["resourceVersion"] = version
        plain = {"metadata": metadata, "spec": {"minMember": size}}
        self.book.follow_group(KEY, msgspec.json.decode(json.dumps(plain), type=PodGroup))

    def see_native(self, size: int) -> None:
        """A native group is there."""
        metadata = {**METADATA, "namespace": "ml", "uid": "g"}
        plain = {"metadata": metadata, "spec": {"schedulingPolicy": {"gang": {"minCount": size}}}}
        self.native.follow_group(KEY, msgspec.convert(plain, NativePodGroup))


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    stage = Stage()
    stage.controller.start()
    yield stage
    await stage.controller.stop()


@pytest.fixture
async def native_stage() -> AsyncIterator[Stage]:
    stage = Stage("scheduling.k8s.io")
    stage.controller.start()
    yield stage
    await stage.controller.stop()


async def test_a_group_is_created_with_its_workload_as_the_controller(stage: Stage) -> None:
    stage.wanted.say(3)
    await stage.clock.advance(0)
    kind = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    assert stage.client.written == [("POST", CRD, {**kind, "metadata": METADATA, "spec": {"minMember": 3}})]


async def test_a_native_group_has_the_priority_class_of_its_pods(native_stage: Stage) -> None:
    native_stage.wanted.say(3)
    await native_stage.clock.advance(0)
    [(_, path, body)] = native_stage.client.written
    assert (path, body["apiVersion"]) == (NATIVE, "scheduling.k8s.io/v1beta1")
    assert body["spec"] == {"schedulingPolicy": {"gang": {"minCount": 3}}, "priorityClassName": "urgent"}


async def test_where_the_preferred_kind_is_not_served_the_other_one_is_created(native_stage: Stage) -> None:
    native_stage.client.errors = [NotFound("the server could not find the requested resource", status=404)]
    native_stage.wanted.say(3)
    await native_stage.clock.advance(60)
    assert native_stage.client.paths == [("POST", NATIVE), ("POST", CRD)]
    assert native_stage.recorder.reported() == []


async def test_nothing_is_created_while_no_pod_waits(stage: Stage) -> None:
    stage.wanted.say(3, waiting=False)
    await stage.clock.advance(60)
    assert stage.client.written == []


async def test_a_group_of_another_size_is_changed_and_nothing_else_of_it(stage: Stage) -> None:
    stage.see(3)
    stage.wanted.say(5, waiting=False)
    await stage.clock.advance(0)
    assert stage.client.written == [("PATCH", f"{CRD}/job-train", {"spec": {"minMember": 5}})]


async def test_a_native_group_keeps_its_priority_class_when_its_size_changes(stage: Stage) -> None:
    stage.see_native(3)
    stage.wanted.say(5, waiting=False)
    await stage.clock.advance(0)
    [(verb, path, body)] = stage.client.written
    assert (verb, path) == ("PATCH", f"{NATIVE}/job-train")
    assert body == {"spec": {"schedulingPolicy": {"gang": {"minCount": 5}}}}


async def test_a_group_that_a_user_changed_gets_the_size_of_its_workload_again(stage: Stage) -> None:
    stage.see(3)
    stage.wanted.say(3, waiting=False)
    await stage.clock.advance(5)
    assert stage.client.written == []
    stage.see(1)
    await stage.clock.advance(0)
    assert [body for *_, body in stage.client.written] == [{"spec": {"minMember": 3}}]


async def test_a_group_that_is_deleted_while_pods_wait_is_created_again(stage: Stage) -> None:
    stage.wanted.say(3)
    stage.see(3)
    await stage.clock.advance(0)
    stage.client.written.clear()
    stage.book.follow_group(KEY, None)
    await stage.clock.advance(0)
    assert stage.client.paths == [("POST", CRD)]


async def test_a_group_without_a_workload_is_left_alone(stage: Stage) -> None:
    stage.see(3)
    await stage.clock.advance(60)
    assert stage.client.written == []


async def test_a_group_that_exists_already_is_looked_for_again(stage: Stage) -> None:
    stage.client.errors = [Conflict("exists", status=409, reason="AlreadyExists")]
    stage.wanted.say(3)
    await stage.clock.advance(0)
    stage.see(3)
    await stage.clock.advance(60)
    assert stage.client.paths == [("POST", CRD)]
    assert stage.recorder.reported() == []


@pytest.mark.parametrize(
    ("owners", "labels"),
    [([], {}), ([{"apiVersion": "v1", "kind": "ConfigMap", "name": "of-a-user", "uid": "c"}], METADATA["labels"])],
    ids=["of a user", "of another owner"],
)
async def test_a_group_that_the_workload_does_not_control_keeps_its_size_and_the_workload_has_one_event(
    stage: Stage, owners: Any, labels: Any
) -> None:
    stage.see(1, owners=owners, labels=labels)
    stage.wanted.say(3)
    await stage.clock.advance(60)
    assert stage.client.written == []
    why = "a PodGroup of this name exists that the workload does not control"
    note = f"PodGroup ml/job-train cannot be created: {why}"
    assert stage.recorder.reported() == [("Warning", "FailedCreate", note)]
    stage.see(3, owners=owners, labels=labels)
    await stage.clock.advance(60)
    assert stage.client.written == []
    [event] = stage.recorder.keys
    assert (event.regarding.kind, event.regarding.namespace, event.regarding.name) == ("Job", "ml", "train")


async def test_a_group_that_a_deleted_workload_left_behind_becomes_that_of_the_next_one(stage: Stage) -> None:
    stage.client.errors = [Conflict("another write came first", status=409, reason="Conflict")]
    stage.see(3, owners=[])
    stage.wanted.say(3)
    await stage.clock.advance(0.5)
    stage.see(3, owners=[], version="2")
    await stage.clock.advance(5)
    owners = METADATA["ownerReferences"]
    assert stage.client.written == [
        ("PATCH", f"{CRD}/job-train", {"metadata": {"uid": "g", "resourceVersion": version, "ownerReferences": owners}})
        for version in ("1", "2")
    ]
    assert stage.recorder.reported() == []


async def test_a_group_that_the_api_does_not_let_a_workload_take_over_is_reported_on_the_workload(stage: Stage) -> None:
    stage.client.errors = [Forbidden("cannot set an ownerRef", status=403)]
    stage.see(3, owners=[])
    stage.wanted.say(3)
    await stage.clock.advance(1)
    note = "PodGroup ml/job-train cannot be created: cannot set an ownerRef"
    assert stage.recorder.reported() == [("Warning", "FailedCreate", note)]


async def test_the_group_of_a_deleted_workload_is_left_to_the_garbage_collector(stage: Stage) -> None:
    stage.see(2, owners=[{**METADATA["ownerReferences"][0], "uid": "of-the-first"}])
    stage.wanted.say(3)
    await stage.clock.advance(60)
    assert stage.client.written == []
    stage.book.follow_group(KEY, None)
    await stage.clock.advance(0)
    assert stage.client.paths == [("POST", CRD)]


async def test_a_group_that_the_api_refuses_is_tried_again_and_the_workload_has_one_event(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = Forbidden("exceeded quota: groups", status=403)
    stage.client.errors = [refusal, refusal]
    stage.wanted.say(3)
    await stage.clock.advance(9)
    assert len(stage.client.written) == 1
    await stage.clock.advance(12)
    assert len(stage.client.written) == 3
    note = "PodGroup ml/job-train cannot be created: exceeded quota: groups"
    assert stage.recorder.reported() == [("Warning", "FailedCreate", note)]
    assert [record.getMessage() for record in caplog.records] == [note]


async def test_another_problem_after_the_group_was_there_is_reported_again(stage: Stage) -> None:
    stage.client.errors = [Forbidden("no", status=403)]
    stage.wanted.say(3)
    await stage.clock.advance(0)
    stage.see(2)
    await stage.clock.advance(0)
    stage.book.follow_group(KEY, None)
    stage.client.errors = [Forbidden("no", status=403)]
    await stage.clock.advance(15)
    assert len(stage.recorder.reported()) == 2


async def test_an_api_that_serves_no_groups_is_reported_in_its_own_words(stage: Stage) -> None:
    stage.client.errors = [NotFound("first", status=404), NotFound("the last", status=404)]
    stage.wanted.say(3)
    await stage.clock.advance(1)
    assert [note for *_, note in stage.recorder.reported()] == ["PodGroup ml/job-train cannot be created: the last"]


async def test_a_size_that_cannot_be_written_is_written_later(stage: Stage) -> None:
    stage.see(3)
    stage.client.errors = [Forbidden("no", status=403)]
    stage.wanted.say(5, waiting=False)
    await stage.clock.advance(9)
    assert len(stage.client.written) == 1
    await stage.clock.advance(2)
    assert len(stage.client.written) == 2


async def test_a_size_of_a_group_that_is_gone_is_not_written_again(stage: Stage) -> None:
    stage.see(3)
    stage.client.errors = [NotFound("gone", status=404)]
    stage.wanted.say(5, waiting=False)
    await stage.clock.advance(60)
    assert len(stage.client.written) == 1


async def test_a_process_that_does_not_lead_writes_nothing_until_it_does(stage: Stage) -> None:
    stage.leads = False
    stage.wanted.say(3)
    await stage.clock.advance(60)
    assert stage.client.written == []
    stage.leads = True
    await stage.clock.advance(2)
    assert stage.client.paths == [("POST", CRD)]


async def test_a_size_that_was_not_written_for_lack_of_the_lease_is_written_later_without_a_warning(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.see(3)
    stage.client.errors = [Fenced("this process does not hold the lease")]
    stage.wanted.say(5, waiting=False)
    await stage.clock.advance(2)
    assert stage.client.paths == [("PATCH", f"{CRD}/job-train")] * 2
    assert caplog.records == []


async def test_a_write_that_lost_its_lease_is_no_problem_of_the_workload(stage: Stage) -> None:
    stage.client.errors = [Fenced("this process does not hold the lease")]
    stage.wanted.say(3)
    await stage.clock.advance(5)
    assert len(stage.client.written) == 2
    assert stage.recorder.reported() == []
