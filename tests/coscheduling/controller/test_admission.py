"""Admission refuses what no group can mean, and nothing else."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from muster.operator.podgroups.admission import AdmissionServing, refusals
from muster.plugins.coscheduling.kind import POD_GROUP_KIND
from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import ControlPlane
from tests.controlplane.ports import free_port
from tests.deployed import define_pod_groups

from .conftest import GROUPS, control, eventually
from .groups import pod_group

CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/pod-groups.muster.test"
CERTIFICATE = Path(__file__).parents[2] / "kube" / "data" / "certificate.pem"
KEY = CERTIFICATE.with_name("key.pem")

TIMEOUT: dict[str, Any] = {"scheduleTimeoutSeconds": -1}
GOOD, BAD = pod_group(), pod_group(**TIMEOUT)
NEGATIVE = "spec.scheduleTimeoutSeconds: Invalid value: -1: should be greater than or equal to 0"
AMOUNT: dict[str, Any] = {"minResources": {"cpu": "1e1.5"}}
"""Passes the schema, and is no quantity all the same."""
NO_QUANTITY = 'spec.minResources[cpu]: Invalid value: "1e1.5": quantities must match'
MINIMUM = "spec.minMember: Invalid value: 0: should be greater than or equal to 1"


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (None, GOOD, []),
        (None, BAD, [NEGATIVE]),
        (None, pod_group(min_member=0), [MINIMUM]),
        (None, pod_group(min_member=0, **TIMEOUT), [MINIMUM, NEGATIVE]),
        (GOOD, BAD, [NEGATIVE]),
        (BAD, GOOD, []),
        (BAD, BAD | {"metadata": {"finalizers": None}}, []),
        (BAD, pod_group(min_member=4, **TIMEOUT), [NEGATIVE]),
    ],
)
def test_a_spec_is_judged_when_it_is_new(old: dict[str, Any] | None, new: dict[str, Any], found: list[str]) -> None:
    assert refusals(POD_GROUP_KIND, old, new) == found


@pytest.fixture
async def admitting(
    control_plane: ControlPlane, admin_kubeconfig: Path, api: Api, namespace: str
) -> AsyncIterator[None]:
    """The controller at work with admission on. The namespace has to be there first: its removal comes last."""
    define_pod_groups(control_plane)
    serving = AdmissionServing(
        certificate=CERTIFICATE,
        key=KEY,
        port=free_port(),
        address="127.0.0.1",
        managed="pod-groups.muster.test",
        authority=CERTIFICATE,
    )
    async with control(admin_kubeconfig, serving):
        await eventually(lambda: webhooks(api))
        yield
    api.delete(CONFIGURATION)


def webhooks(api: Api) -> Any:
    try:
        return api.get(CONFIGURATION).get("webhooks")
    except ApiError:
        return None


@pytest.mark.usefixtures("admitting")
async def test_the_api_server_refuses_with_the_fields_path(control_plane: ControlPlane, namespace: str) -> None:
    path, numbers = f"{GROUPS}/namespaces/{namespace}/podgroups", itertools.count()
    with control_plane.api() as client:

        def group(name: str = "train", **spec: Any) -> dict[str, Any]:
            return pod_group(name, namespace=namespace, **spec)

        async def answer(call: Callable[..., Any], where: str, body: dict[str, Any]) -> str:
            """The refusal, or nothing. In a thread, because the webhook is served by this process meanwhile."""
            try:
                await asyncio.to_thread(call, where, body)
            except ApiError as error:
                return str(error)
            return ""

        # The API server learns of a webhook a moment after its configuration was written.
        async with asyncio.timeout(20):
            while NO_QUANTITY not in await answer(client.post, path, group(f"g{next(numbers)}", **AMOUNT)):
                pass
        assert f"denied the request: {NO_QUANTITY}" in await answer(client.post, path, group(**AMOUNT))
        assert await answer(client.post, path, group()) == ""
        assert await answer(client.patch, f"{path}/train", {"metadata": {"labels": {"a": "b"}}}) == ""
        assert NO_QUANTITY in await answer(client.patch, f"{path}/train", {"spec": AMOUNT})
