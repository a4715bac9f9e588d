"""A running Muster on an API server that serves Kubernetes' own groups in other versions than those of 1.37."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from muster.sandbox import Sandbox, kinds, server
from tests.builders import make_node
from tests.commands.asking import ask
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import Options, running
from tests.gangscheduling.world import make_composite, make_group, make_members
from tests.sandboxes import served

POD_GROUPS = replace(kinds.NATIVE_POD_GROUPS, version="v1")
COMPOSITES = replace(kinds.COMPOSITE_POD_GROUPS, version="v1beta1")
PARTS = ("left", "right")


@pytest.fixture
def sandbox(monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """An API that serves PodGroups as v1 alone, and CompositePodGroups as v1beta1 alone."""
    monkeypatch.setattr(server, "NATIVE_GROUP_KINDS", (POD_GROUPS, COMPOSITES))
    return Sandbox(native_groups=True, stand_ins=False)


@pytest.fixture
def kubeconfig(sandbox: Sandbox, tmp_path: Path) -> Iterator[Path]:
    """Of a cluster with a tree of two gangs, and a node that has room for one of their pods."""
    groups = [make_group(name, 1, parentCompositePodGroupName="job") for name in PARTS]
    objects = [
        make_composite("job", 2) | {"apiVersion": COMPOSITES.api_version},
        *(group | {"apiVersion": POD_GROUPS.api_version} for group in groups),
        *(pod for name in PARTS for pod in make_members(name, 1)),
        make_node("one", cpu="1"),
    ]
    with served(sandbox, objects, tmp_path) as found:
        yield found


def group(sandbox: Sandbox, name: str) -> Any:
    """A PodGroup as the API has it."""
    path = f"/apis/{POD_GROUPS.api_version}/namespaces/default/podgroups/{name}"
    with urlopen(sandbox.url + path) as answer:
        return json.load(answer)


def reported(sandbox: Sandbox) -> set[str]:
    """The reasons in the statuses of both parts."""
    conditions = [each for name in PARTS for each in group(sandbox, name).get("status", {}).get("conditions", [{}])]
    return {each.get("reason", "") for each in conditions}


def test_groups_are_followed_and_reported_on_in_the_versions_that_are_served(
    sandbox: Sandbox, kubeconfig: Path, tmp_path: Path
) -> None:
    with running(Options(kubeconfig=kubeconfig, log=tmp_path / "muster.log")) as process:
        eventually(lambda: reported(sandbox) == {"Unschedulable"})
        body, headers = json.dumps(make_node("two", cpu="1")).encode(), {"Content-Type": "application/json"}
        urlopen(Request(f"{sandbox.url}/api/v1/nodes", body, headers, method="POST")).close()
        eventually(lambda: reported(sandbox) == {"Scheduled"})
    assert process.errors == []


def test_a_group_is_held_in_the_version_that_is_served(sandbox: Sandbox, kubeconfig: Path) -> None:
    held = ask("hold", "podgroup.scheduling.k8s.io/left", "--reason", "moved", "--kubeconfig", str(kubeconfig))
    assert (held.exit_code, held.output) == (0, "podgroup.scheduling.k8s.io/left held\n")
    assert group(sandbox, "left")["metadata"]["annotations"]["muster-scheduler.io/hold"] == "moved"
