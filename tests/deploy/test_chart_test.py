"""`helm test`: what it installs, and what its program says on a cluster where nothing is scheduled.

`tests/deploy/followed/test_chart_test.py` runs it against a release at work.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from muster.plugins.coscheduling.definition import definition
from muster.sandbox import Sandbox
from tests.deploy.helm import CHART, Helm, Manifest, name_of, pick
from tests.deploy.tables import at

PROGRAM = CHART / "files" / "schedule.py"


@pytest.fixture
async def nobody_schedules(tmp_path: Path) -> AsyncIterator[Path]:
    """The kubeconfig of a cluster with PodGroups and without a scheduler."""
    async with Sandbox([definition()]) as sandbox:
        yield sandbox.kubeconfig(tmp_path / "kubeconfig")


def test_the_test_has_rights_of_its_own_in_the_namespace_of_the_release(helm: Helm) -> None:
    hooks = helm.hooks()
    kinds = [f"{kind}/muster-test" for kind in ("ServiceAccount", "Role", "RoleBinding", "Pod")]
    assert sorted(map(name_of, hooks)) == sorted(kinds)
    assert {each["metadata"]["namespace"] for each in hooks} == {"muster-system"}
    assert _container_of(hooks)["image"] == "muster:0.1.0"
    assert helm.hooks({"rbac": {"create": False}}) == []


def test_nothing_of_the_release_selects_the_pod_of_the_test(helm: Helm) -> None:
    pod = pick(helm.hooks(), "Pod/muster-test")["metadata"]["labels"]
    manifests = helm.template()
    for name, path in (("Service/muster", "spec.selector"), ("Deployment/muster", "spec.selector.matchLabels")):
        selector = at(pick(manifests, name), path)
        assert selector
        assert not selector.items() <= pod.items()


def test_the_pods_of_the_chart_test_have_the_releases_restrictions_and_image_pull_settings(helm: Helm) -> None:
    values = {"scheduler": {"imagePullSecrets": [{"name": "pull"}], "tolerations": [{"key": "a"}]}}
    made = json.loads(_environment_of(helm.hooks(values))["POD_SPEC"])
    release = at(pick(helm.template(values), "Deployment/muster"), "spec.template.spec")
    for field in ("imagePullSecrets", "tolerations", "securityContext"):
        assert made[field] == release[field]
    for field in ("image", "imagePullPolicy", "securityContext"):
        assert made["containers"][0][field] == release["containers"][0][field]
    assert made["automountServiceAccountToken"] is False


async def test_the_program_names_unscheduled_pods_and_deletes_its_pods(
    helm: Helm, nobody_schedules: Path, tmp_path: Path
) -> None:
    environment = _environment_of(helm.hooks({"schedulerNames": ["first", "second"]})) | {"SECONDS": "0"}
    namespaced = environment | {"NAMESPACE": "default"}
    code, printed = await asyncio.to_thread(_run, nobody_schedules, namespaced, tmp_path)
    assert code == 1
    lines = printed.splitlines()
    assert [line.partition(": ")[2] for line in lines[:3]] == ["no scheduler has said anything of it"] * 3
    assert lines[3].endswith("-gang has 0 of 2 pods scheduled")
    left = ("kubectl", f"--kubeconfig={nobody_schedules}", "get", "pods,podgroups", "--output=name")
    assert await asyncio.to_thread(subprocess.check_output, left, text=True) == ""
    assert environment["SCHEDULER"] == "first"


async def test_the_program_says_what_the_api_server_refused(helm: Helm, nobody_schedules: Path, tmp_path: Path) -> None:
    environment = _environment_of(helm.hooks()) | {"NAMESPACE": "nowhere"}
    code, printed = await asyncio.to_thread(_run, nobody_schedules, environment, tmp_path)
    assert code == 1
    assert printed.startswith("the API server refused: 404")


def _run(kubeconfig: Path, environment: Mapping[str, str], home: Path) -> tuple[int, str]:
    given = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(kubeconfig), **environment}
    done = subprocess.run([sys.executable, str(PROGRAM)], env=given, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


def _container_of(hooks: list[Manifest]) -> Manifest:
    [container] = pick(hooks, "Pod/muster-test")["spec"]["containers"]
    assert container["args"] == [PROGRAM.read_text()]
    return dict(container)


def _environment_of(hooks: list[Manifest]) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in _container_of(hooks)["env"]}
