"""The image: what goes into it, and that Muster runs from it without the repository."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster.operator.commands.run import command
from tests.deploy.helm import REPOSITORY, Helm, pick
from tests.deploy.image import DOCKERFILE, Image
from tests.deploy.tables import nested

TEXT = DOCKERFILE.read_text()


def test_muster_runs_without_the_repository(image: Image, tmp_path: Path) -> None:
    done = subprocess.run([image.muster, "--help"], cwd=tmp_path, env={}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Schedule pods until stopped" in done.stdout


def test_the_image_holds_the_modules_of_the_repository(image: Image, tmp_path: Path) -> None:
    program = "import muster.operator.cli as module; print(module.__file__)"
    python = image.muster.with_name("python")
    done = subprocess.run([python, "-c", program], cwd=tmp_path, env={}, capture_output=True, text=True)
    assert Path(done.stdout).is_relative_to(image.muster.parents[1])


def test_all_that_is_installed_has_a_pinned_version() -> None:
    installs = re.findall(r"pip (?:--\S+ \S+ )?install (.+)", TEXT)
    assert installs
    assert all(install.startswith("-c constraints.txt ") for install in installs)
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in _lines("constraints.txt")}
    wanted = re.findall(r'^    "([A-Za-z-]+)>=', (REPOSITORY / "pyproject.toml").read_text(), re.MULTILINE)
    assert {name.lower() for name in wanted} <= pinned


def test_the_process_is_nobody_and_the_chart_says_the_same(helm: Helm) -> None:
    spec = pick(helm.template(), "Deployment/muster")["spec"]["template"]["spec"]
    [user] = re.findall(r"^USER (\d+):(\d+)$", TEXT, re.MULTILINE)
    context = spec["securityContext"]
    assert (str(context["runAsUser"]), str(context["runAsGroup"])) == user


def test_the_chart_starts_what_the_image_starts(helm: Helm) -> None:
    [container] = pick(helm.template(), "Deployment/muster")["spec"]["template"]["spec"]["containers"]
    assert 'ENTRYPOINT ["muster"]\nCMD ["run"]' in TEXT
    assert "command" not in container
    assert container["args"][0] == "run"
    assert f"EXPOSE {container['ports'][0]['containerPort']}" in TEXT


@pytest.mark.parametrize(
    "values",
    [{}, {"webhook.enabled": True}, {"serving.certificateSecret": "tls"}, {"serving.plainHttp": True}],
    ids=str,
)
def test_every_flag_of_the_deployment_is_one_that_muster_has(helm: Helm, values: dict[str, Any]) -> None:
    [container] = pick(helm.template(nested(values)), "Deployment/muster")["spec"]["template"]["spec"]["containers"]
    known = set(re.findall(r"(--?[a-z-]+)[ ,]", CliRunner().invoke(command, ["--help"]).output))
    assert {re.split(r"=|\d", flag)[0] for flag in container["args"][1:]} - known == set()


def test_images_are_named_without_a_registry(helm: Helm) -> None:
    named = re.findall(r"^FROM (\S+)", TEXT, re.MULTILINE)
    assert set(named) == {"python:3.11-slim"}
    [container] = pick(helm.template(), "Deployment/muster")["spec"]["template"]["spec"]["containers"]
    assert "/" not in container["image"]


def _lines(name: str) -> list[str]:
    return [line for line in (REPOSITORY / name).read_text().splitlines() if not line.startswith("#")]
