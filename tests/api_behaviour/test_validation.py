"""Objects that make no sense, and how they are refused."""

from typing import Any

import pytest

from tests.api_behaviour.objects import config_map, deployment
from tests.api_behaviour.server import Server


def _container(**fields: Any) -> dict[str, Any]:
    return {"name": "main", "image": "nginx", **fields}


def _spec(**fields: Any) -> dict[str, Any]:
    return {"containers": [_container()], **fields}


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({}, [("spec.containers", "Required value")]),
        (_spec(containers=[{"name": "main"}]), [("spec.containers[0].image", "Required value")]),
        (_spec(containers=[{"image": "nginx"}]), [("spec.containers[0].name", "Required value")]),
        (
            _spec(containers=[_container(), _container()]),
            [("spec.containers[1].name", 'Duplicate value: "main"')],
        ),
        (
            _spec(containers=[_container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})]),
            [
                (
                    "spec.containers[0].resources.requests",
                    'Invalid value: "2": must be less than or equal to cpu limit of 1',
                )
            ],
        ),
        (
            _spec(containers=[_container(resources={"requests": {"nvidia.com/gpu": 1}})]),
            [
                (
                    "spec.containers[0].resources.limits",
                    "Required value: Limit must be set for non overcommitable resources",
                )
            ],
        ),
        (
            _spec(containers=[_container(resources={"limits": {"nvidia.com/gpu": "0.5"}})]),
            [
                (f"spec.containers[0].resources.{field}[nvidia.com/gpu]", 'Invalid value: "500m": must be an integer')
                for field in ("limits", "requests")
            ],
        ),
        (
            _spec(
                containers=[_container(resources={"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 2}})]
            ),
            [
                (
                    "spec.containers[0].resources.requests",
                    'Invalid value: "1": must be equal to nvidia.com/gpu limit of 2',
                )
            ],
        ),
        (
            _spec(containers=[_container(resources={"requests": {"pods": 1}})]),
            [
                (
                    "spec.containers[0].resources.requests[pods]",
                    'Invalid value: "pods": must be a standard resource for containers',
                )
            ],
        ),
        (
            _spec(containers=[_container(resources={"limits": {"requests.nvidia.com/gpu": 1}})]),
            [
                (
                    f"spec.containers[0].resources.{field}[requests.nvidia.com/gpu]",
                    'Invalid value: "requests.nvidia.com/gpu": doesn\'t follow extended resource name standard',
                )
                for field in ("limits", "requests")
            ],
        ),
        (
            _spec(containers=[_container(resources={"limits": {"gpu": 1}})]),
            [
                (
                    f"spec.containers[0].resources.{field}[gpu]",
                    f'Invalid value: "gpu": must be a standard {of}',
                )
                for field in ("limits", "requests")
                for of in ("resource type or fully qualified", "resource for containers")
            ],
        ),
        (
            _spec(containers=[_container(resources={"limits": {"hugepages-2Mi": "4Mi"}})]),
            [("spec.containers[0].resources", "Forbidden: HugePages require cpu or memory")],
        ),
        (
            _spec(containers=[_container(resources={"limits": {"cpu": 1, "hugepages-2Mi": "3Mi"}})]),
            [
                (
                    f"spec.containers[0].resources.{field}[hugepages-2Mi]",
                    'Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
                )
                for field in ("limits", "requests")
            ],
        ),
        (
            _spec(overhead={"nvidia.com/gpu": "1.5"}),
            [("spec.overhead.limits[nvidia.com/gpu]", 'Invalid value: "1500m": must be an integer')],
        ),
        (
            _spec(restartPolicy="Sometimes"),
            [
                (
                    "spec.restartPolicy",
                    'Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
                )
            ],
        ),
        (
            _spec(tolerations=[{"key": "a", "tolerationSeconds": 3}]),
            [
                (
                    "spec.tolerations[0].effect",
                    "Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
                )
            ],
        ),
        (
            _spec(nodeName="node", schedulingGates=[{"name": "a"}]),
            [("spec.nodeName", "Forbidden: cannot be set until all schedulingGates have been cleared")],
        ),
        (
            _spec(schedulingGates=[{"name": "a"}, {"name": "a"}]),
            [("spec.schedulingGates[1]", 'Duplicate value: "a"')],
        ),
    ],
)
async def test_a_broken_pod_is_refused_with_the_field_that_is_wrong(
    server: Server, spec: dict[str, Any], causes: list[tuple[str, str]]
) -> None:
    answer = await server.post(server.pods(), {"metadata": {"name": "web"}, "spec": spec})

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert [(cause["field"], cause["message"]) for cause in answer.body["details"]["causes"]] == causes
    assert answer.body["details"] | {"causes": []} == {"name": "web", "kind": "Pod", "causes": []}


async def test_several_faults_are_reported_together(server: Server) -> None:
    answer = await server.post(server.pods(), {"metadata": {"name": "web"}, "spec": {"containers": [{}]}})

    assert answer.message == (
        'Pod "web" is invalid: [spec.containers[0].name: Required value, spec.containers[0].image: Required value]'
    )


async def test_an_object_needs_a_name(server: Server) -> None:
    answer = await server.post(server.path("configmaps"), {"metadata": {}})

    assert answer.code == 422
    assert answer.message == (
        'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'
    )


async def test_a_name_has_to_be_a_dns_subdomain(server: Server) -> None:
    answer = await server.post(server.path("configmaps"), config_map("Not_A_Name", {}))

    assert answer.code == 422
    assert 'metadata.name: Invalid value: "Not_A_Name": a lowercase RFC 1123 subdomain must consist of' in (
        answer.message
    )


@pytest.mark.parametrize(
    "metadata",
    [{"labels": {"a b": "c"}}, {"labels": {"a": "b c"}}, {"annotations": {"!": "c"}}],
    ids=["label key", "label value", "annotation key"],
)
async def test_keys_and_labels_have_to_be_well_formed(server: Server, metadata: dict[str, Any]) -> None:
    answer = await server.post(server.path("configmaps"), config_map("a", {}, **metadata))

    (field,) = metadata
    assert answer.code == 422
    assert f"metadata.{field}: Invalid value: " in answer.message


async def test_a_quantity_that_is_none_cannot_even_be_read(server: Server) -> None:
    limits = {"limits": {"cpu": "much"}}

    answer = await server.post(
        server.pods(), {"metadata": {"name": "web"}, "spec": _spec(containers=[_container(resources=limits)])}
    )

    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert "quantities must match the regular expression" in answer.message


async def test_a_deployment_has_to_select_its_own_pods(server: Server) -> None:
    other = deployment("a", ("main", "nginx"), selector={"matchLabels": {"app": "b"}})

    answer = await server.post(server.path("deployments", group="apps/v1"), other)

    assert answer.code == 422
    assert "spec.template.metadata.labels: Invalid value: " in answer.message
    assert "`selector` does not match template `labels`" in answer.message


async def test_a_taint_needs_a_known_effect(server: Server) -> None:
    taints = [{"key": "a", "effect": "Scare"}]

    answer = await server.post("/api/v1/nodes", {"metadata": {"name": "a"}, "spec": {"taints": taints}})

    assert answer.code == 422
    assert 'Unsupported value: "Scare": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"' in (
        answer.message
    )


async def test_a_lease_lasts_longer_than_no_time(server: Server) -> None:
    lease = {"metadata": {"name": "a"}, "spec": {"leaseDurationSeconds": 0}}

    answer = await server.post(server.path("leases", group="coordination.k8s.io/v1"), lease)

    assert answer.code == 422
    assert "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0" in answer.message


async def test_users_cannot_outrank_the_system(server: Server) -> None:
    name = f"{server.namespace}-boss"

    answer = await server.post(
        "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": 2_000_000_000}
    )

    assert answer.code == 422
    assert "value: Forbidden: maximum allowed value of a user defined priority is 1000000000" in answer.message
