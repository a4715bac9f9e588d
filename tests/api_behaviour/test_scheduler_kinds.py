"""The kinds that kube-scheduler's default plugins watch: each can be made, read, watched, changed and removed."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.api_behaviour.server import MERGE, TABLE, Server

_SELECTOR = {"matchLabels": {"app": "web"}}
_TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "nginx"}]},
}
_JOB_TEMPLATE: dict[str, Any] = {"spec": {"containers": [{"name": "main", "image": "nginx"}], "restartPolicy": "Never"}}
_REQUEST: dict[str, Any] = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


@dataclass(frozen=True)
class Case:
    """One kind: where it is served, the least object, whether an update must name a version, what a delete answers."""

    group: str
    resource: str
    obj: dict[str, Any]
    namespaced: bool = True
    unconditional: bool = True
    returned: bool = False
    counted: bool = False

    def path(self, server: Server, *below: str) -> str:
        if self.namespaced:
            return server.path(self.resource, *below, group=self.group)
        root = f"/apis/{self.group}" if self.group else "/api/v1"
        return "/".join([root, self.resource, *below])


CASES = [
    Case("", "services", {"spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}, returned=True),
    Case("", "replicationcontrollers", {"spec": {"selector": {"app": "web"}, "template": _TEMPLATE}}, counted=True),
    Case("apps/v1", "replicasets", {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}}, counted=True),
    Case("apps/v1", "statefulsets", {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}}, counted=True),
    Case("", "persistentvolumeclaims", {"spec": _CLAIM}, returned=True),
    Case(
        "",
        "persistentvolumes",
        {"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}}},
        namespaced=False,
        returned=True,
    ),
    Case("storage.k8s.io/v1", "storageclasses", {"provisioner": "a.b"}, namespaced=False, returned=True),
    Case(
        "storage.k8s.io/v1",
        "csinodes",
        {"spec": {"drivers": [{"name": "a.b", "nodeID": "one"}]}},
        namespaced=False,
        unconditional=False,
        returned=True,
    ),
    Case("storage.k8s.io/v1", "csidrivers", {"spec": {}}, namespaced=False, unconditional=False, returned=True),
    Case("storage.k8s.io/v1", "csistoragecapacities", {"storageClassName": "fast"}, unconditional=False),
    Case(
        "storage.k8s.io/v1",
        "volumeattachments",
        {"spec": {"attacher": "a.b", "nodeName": "one", "source": {"persistentVolumeName": "one"}}},
        namespaced=False,
        unconditional=False,
        returned=True,
    ),
    Case("resource.k8s.io/v1", "resourceclaims", {"spec": _REQUEST}, returned=True),
    Case("resource.k8s.io/v1", "resourceclaimtemplates", {"spec": {"spec": _REQUEST}}, returned=True),
    Case("resource.k8s.io/v1", "deviceclasses", {"spec": {}}, namespaced=False, returned=True, counted=True),
    Case(
        "resource.k8s.io/v1",
        "devicetaintrules",
        {"spec": {"deviceSelector": {"driver": "a.b"}, "taint": {"key": "a.b/gone", "effect": "NoExecute"}}},
        namespaced=False,
        unconditional=False,
        counted=True,
    ),
    Case(
        "resource.k8s.io/v1",
        "resourceslices",
        {
            "spec": {
                "driver": "a.b",
                "nodeName": "one",
                "pool": {"name": "one", "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "gpu-1"}],
            }
        },
        namespaced=False,
        returned=True,
        counted=True,
    ),
    Case(
        "policy/v1",
        "poddisruptionbudgets",
        {"spec": {"minAvailable": 1, "selector": _SELECTOR}},
        unconditional=False,
        counted=True,
    ),
    Case("scheduling.k8s.io/v1", "priorityclasses", {"value": 10}, namespaced=False, counted=True),
    Case(
        "batch/v1",
        "jobs",
        {"spec": {"template": _TEMPLATE | _JOB_TEMPLATE}},
        counted=True,
    ),
]


@pytest.fixture(params=CASES, ids=lambda case: case.resource)
async def case(request: pytest.FixtureRequest, server: Server) -> AsyncIterator[Case]:
    """A kind; what a test leaves of it is removed, also outside the test's namespace."""
    case: Case = request.param
    yield case
    for name in (_name(server), "other"):
        await server.delete(case.path(server, name), gracePeriodSeconds=0, propagationPolicy="Background")
        await server.patch(case.path(server, name), {"metadata": {"finalizers": None}})


def _name(server: Server) -> str:
    return f"{server.namespace}-it"


def _object(server: Server, case: Case, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": _name(server)} | metadata} | case.obj


async def test_an_object_can_be_made_read_watched_changed_and_removed(server: Server, case: Case) -> None:
    before = (await server.get(case.path(server))).version

    created = await server.post(case.path(server), _object(server, case), fieldValidation="Strict")
    changed = await server.patch(
        case.path(server, _name(server)), {"metadata": {"labels": {"a": "b"}, "finalizers": None}}, MERGE
    )
    read = await server.get(case.path(server, _name(server)))
    removed = await server.delete(case.path(server, _name(server)), propagationPolicy="Background")
    async with server.watch(case.path(server), resourceVersion=before) as watch:
        seen = [await watch.next_name() for _ in range(3)]

    assert (created.code, changed.code, read.code, removed.code) == (201, 200, 200, 200), created.body
    assert read.body == changed.body
    assert created.body["metadata"].get("generation") == (1 if case.counted else None)
    assert changed.body["metadata"].get("generation") == (1 if case.counted else None)
    assert removed.body["kind"] == (created.body["kind"] if case.returned else "Status")
    assert seen == [(type, _name(server)) for type in ("ADDED", "MODIFIED", "DELETED")]


async def test_an_update_has_to_name_the_version_where_the_kind_asks_for_it(server: Server, case: Case) -> None:
    created = await server.post(case.path(server), _object(server, case))
    metadata = {key: value for key, value in created.body["metadata"].items() if key != "resourceVersion"}

    answer = await server.put(case.path(server, _name(server)), created.body | {"metadata": metadata})

    assert answer.code == (200 if case.unconditional else 422), answer.body


COLUMNS = {
    "csidrivers": ["True", "False", "False", "<unset>", "False", "Persistent"],
    "resourceclaims": ["pending"],
    "resourceslices": ["one", "a.b", "one"],
    "deviceclasses": [],
    "jobs": ["Running", "0/1", ""],
    "csinodes": ["1"],
    "replicasets": ["1", "0", "0"],
    "statefulsets": ["0/1"],
    "storageclasses": ["a.b", "Delete", "Immediate", "False"],
    "volumeattachments": ["a.b", "one", "one", "False"],
}
"""What the table of a kind shows between name and age."""


@pytest.mark.parametrize("case", [case for case in CASES if case.resource in COLUMNS], indirect=True)
async def test_tables_have_the_columns_that_people_know(server: Server, case: Case) -> None:
    await server.post(case.path(server), _object(server, case))

    table = (await server.get(case.path(server, _name(server)), accept=TABLE)).body

    shown = [column["name"] for column in table["columnDefinitions"] if not column["priority"]]
    assert shown[-1] == "Age"
    assert [str(cell) for cell in table["rows"][0]["cells"][1 : len(shown) - 1]] == COLUMNS[case.resource]


async def test_a_claim_asks_for_one_device_where_it_does_not_say_how_many(server: Server) -> None:
    path = server.path("resourceclaims", group="resource.k8s.io/v1")
    subrequest = {"name": "a", "deviceClassName": "gpu"}
    requests = [*_REQUEST["devices"]["requests"], {"name": "any", "firstAvailable": [subrequest]}]

    created = await server.post(path, {"metadata": {"name": "one"}, "spec": {"devices": {"requests": requests}}})

    exactly, first = created.body["spec"]["devices"]["requests"]
    assert (exactly["exactly"]["allocationMode"], exactly["exactly"]["count"]) == ("ExactCount", 1)
    assert first["firstAvailable"] == [subrequest | {"allocationMode": "ExactCount", "count": 1}]


async def test_a_job_gets_a_selector_and_labels_of_its_own(server: Server) -> None:
    path = server.path("jobs", group="batch/v1")

    job = (await server.post(path, {"metadata": {"name": "once"}, "spec": {"template": _JOB_TEMPLATE}})).body

    uid = job["metadata"]["uid"]
    labels = {"controller-uid": uid, "job-name": "once"}
    labels |= {f"batch.kubernetes.io/{key}": value for key, value in labels.items()}
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert job["spec"]["template"]["metadata"]["labels"] == job["metadata"]["labels"] == labels
    assert (job["spec"]["parallelism"], job["spec"]["completions"], job["spec"]["backoffLimit"]) == (1, 1, 6)
    assert (job["spec"]["completionMode"], job["spec"]["suspend"], job["status"]) == ("NonIndexed", False, {})


@pytest.mark.parametrize(
    ("group", "resource", "spec", "fault"),
    [
        (
            "batch/v1",
            "jobs",
            {"template": {"spec": {"containers": [{"name": "main", "image": "nginx"}]}}},
            'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
        ),
        (
            "batch/v1",
            "jobs",
            {"template": _JOB_TEMPLATE, "parallelism": -1},
            "spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "apps/v1",
            "replicasets",
            {"selector": _SELECTOR, "template": _TEMPLATE, "replicas": -1},
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "apps/v1",
            "deployments",
            {"selector": _SELECTOR, "template": _TEMPLATE | _JOB_TEMPLATE},
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        ),
        (
            "resource.k8s.io/v1",
            "resourceclaims",
            {"devices": {"requests": [{"name": "a"}]}},
            "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
        ),
        (
            "resource.k8s.io/v1",
            "resourceclaims",
            {"devices": {"requests": [{"name": "a", "exactly": {}}]}},
            "spec.devices.requests[0].exactly.deviceClassName: Required value",
        ),
    ],
)
async def test_a_spec_that_makes_no_sense_is_refused(
    server: Server, group: str, resource: str, spec: dict[str, Any], fault: str
) -> None:
    answer = await server.post(server.path(resource, group=group), {"metadata": {"name": "one"}, "spec": spec})

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert answer.message.endswith(f'"one" is invalid: {fault}')


async def test_the_status_of_a_claim_is_written_by_itself(server: Server) -> None:
    path = server.path("resourceclaims", group="resource.k8s.io/v1")
    created = await server.post(path, {"metadata": {"name": "one"}, "spec": _REQUEST})
    result = {"request": "gpu", "driver": "a.b", "pool": "one", "device": "gpu-1"}
    status = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": "web", "uid": "1"}],
    }

    answer = await server.put(f"{path}/one/status", created.body | {"status": status})

    assert answer.code == 200, answer.body
    assert answer.body["status"]["reservedFor"] == status["reservedFor"]
    assert answer.body["status"]["allocation"]["devices"]["results"] == [result]
    assert answer.body["spec"] == created.body["spec"]
