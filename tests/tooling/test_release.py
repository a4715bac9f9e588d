"""`make release`: what it makes in a folder, and that each of its checks finds what it is for."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.release.__main__ import listed
from deploy.release.agreement import expected, findings, missing_from_the_wheel, placeholders, write_checksums
from deploy.release.bill import closure, pinned_versions
from deploy.release.build import absolute, build, build_notes, folded, heading_of_notes, section
from deploy.release.kubectl_plugin import LAUNCHER
from deploy.release.plan import Plan, ReleaseError, disagreements, project_version
from tests.tooling.test_make import recipe
from tests.tooling.test_packaging import FOLDERS, REPOSITORY

VERSION = project_version()
IMAGE = "registry.example/acme/muster"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A release as the workflow makes it, but of a version that is not in the changelog yet."""
    plan = Plan(VERSION, tmp_path_factory.mktemp("release") / "new", "acme", IMAGE)
    build(plan)
    return plan


@pytest.fixture
def copy(release: Plan, tmp_path: Path) -> Plan:
    """A copy of it, to be broken."""
    shutil.copytree(release.output, tmp_path / "copy")
    return Plan(VERSION, tmp_path / "copy", "acme", IMAGE)


def test_a_release_is_whole_and_all_of_it_has_the_version_of_the_project(release: Plan) -> None:
    assert {path.name for path in release.output.iterdir()} == {*expected(release), "SHA256SUMS"}
    for name, versions_of in expected(release).items():
        found = versions_of(release.output / name)
        assert (name, {version for _, version in found}) == (name, {VERSION})
    assert [*findings(release)] == []


def test_the_wheel_has_every_module_of_every_top_level_package(release: Plan) -> None:
    [wheel] = release.output.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    for package in FOLDERS:
        modules = {f"muster/{path.relative_to(REPOSITORY)}" for path in (REPOSITORY / package).rglob("*.py")}
        assert len(modules) > 1
        assert modules - held == set()
    assert missing_from_the_wheel(wheel) == []


def test_the_digests_equal_sha256sums(release: Plan) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=release.output, check=True)


def test_nothing_is_left_to_be_filled_in_where_owner_and_image_are_given(release: Plan, tmp_path: Path) -> None:
    assert placeholders(release) == []
    [manifest] = [each for each in _install(release) if each["kind"] == "Deployment"]
    [container] = manifest["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"{IMAGE}:{VERSION}"
    with tarfile.open(release.output / f"muster-{VERSION}.tgz") as chart:
        chart.extractall(tmp_path, filter="data")
    assert yaml.safe_load((tmp_path / "muster" / "values.yaml").read_text())["image"]["repository"] == IMAGE
    assert yaml.safe_load((tmp_path / "muster" / "Chart.yaml").read_text())["home"] == "https://github.com/acme/muster"

    unnamed = Plan(VERSION, release.output)
    assert placeholders(unnamed) == ["install.yaml", f"muster-{VERSION}.tgz"]


def test_the_manifest_installs_what_the_kustomization_installs(release: Plan) -> None:
    command = ["kubectl", "kustomize", str(REPOSITORY / "deploy")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert _names(_install(release)) == _names([*yaml.safe_load_all(text)])


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("notes.md", "notes.md is missing"),
        (f"muster-{VERSION}.tgz", f"muster-{VERSION}.tgz is missing"),
        ("SHA256SUMS", "SHA256SUMS is missing"),
    ],
)
def test_a_file_that_is_missing_is_found(copy: Plan, name: str, found: str) -> None:
    (copy.output / name).unlink()
    assert [*findings(copy)] == [found]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("install.yaml", f"muster:{VERSION}", "the image's tag is 9, not"),
        ("notes.md", f"# Muster {VERSION}", "the title is 9, not"),
        ("muster.krew.yaml", "sha256: ", "the archive is not that of"),
        (f"muster-{VERSION}.cdx.json", f'"version": "{VERSION}"', "metadata.component is 9, not"),
    ],
)
def test_a_file_of_another_version_is_found(copy: Plan, name: str, text: str, found: str) -> None:
    path = copy.output / name
    path.write_text(path.read_text().replace(text, text.replace(VERSION, "9") if VERSION in text else f"{text}0"))
    write_checksums(copy)
    [finding] = findings(copy)
    assert finding.startswith(f"{name}: {found}")


def test_a_file_that_changed_after_its_digest_was_written_is_found(copy: Plan) -> None:
    path = copy.output / "install.yaml"
    path.write_text(f"{path.read_text()}\n")
    assert [*findings(copy)] == ["SHA256SUMS has another digest of install.yaml"]


def test_a_wheel_without_a_module_is_found(copy: Plan) -> None:
    [wheel] = copy.output.glob("*.whl")
    with zipfile.ZipFile(wheel) as whole:
        contents = {name: whole.read(name) for name in whole.namelist() if name != "muster/operator/cli.py"}
    with zipfile.ZipFile(wheel, "w") as rest:
        for name, content in contents.items():
            rest.writestr(name, content)
    assert f"{wheel.name} lacks muster/operator/cli.py" in findings(copy)


def test_a_file_of_the_repository_that_repeats_another_version_is_named(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "charts/muster/Chart.yaml", "deploy/kustomization.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((REPOSITORY / name).read_text().replace(VERSION, "9.9.9"))
    shutil.copytree(REPOSITORY / "deploy" / "manifests", tmp_path / "deploy" / "manifests")
    assert {each.partition(" ")[0] for each in disagreements(tmp_path)} == {"deploy/manifests/deployment.yaml"}
    assert [*disagreements()] == []


def test_notes_of_a_final_release_are_the_section_of_its_version(tmp_path: Path) -> None:
    changelog = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0 - 2027-01-01\n\n### Added\n\n- old\n"
    assert section(changelog, "0.2.0") == "### Added\n\n- old"
    assert section(changelog, "Unreleased") == "- new"
    assert section(changelog, "0.2") is None
    with pytest.raises(ReleaseError, match=r"CHANGELOG\.md has no section '## 99\.0\.0'"):
        build_notes(Plan("99.0.0", tmp_path), final=True)


def test_notes_show_the_introduction_and_fold_the_lists_of_changes() -> None:
    changes = "What is new.\n\n### Added\n\n#### Groups\n\n- a\n\n### Fixed\n\n- b"
    assert folded(changes) == (
        "What is new.\n\n<details>\n<summary>All changes</summary>\n\n"
        "### Added\n\n#### Groups\n\n- a\n\n### Fixed\n\n- b\n\n</details>"
    )
    assert folded("### Added\n\n- a") == "### Added\n\n- a"
    assert folded("What is new.") == "What is new."


def test_notes_of_unreleased_changes_are_for_a_trial_only() -> None:
    changelog = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0\n\n- old\n"
    assert heading_of_notes(changelog, "0.2.0", final=False) == "0.2.0"
    assert heading_of_notes(changelog, "0.3.0", final=False) == "Unreleased"
    assert heading_of_notes(changelog, "0.3.0", final=True) == "0.3.0"


def test_the_list_names_every_file_and_what_is_not_fit_for_publication(release: Plan) -> None:
    title, *lines = listed(release, final=False)
    assert title == f"Muster {VERSION} in {release.output}"
    files = [line for line in lines if line.startswith("  ")]
    assert {line.split()[-1] for line in files} == {path.name for path in release.output.iterdir()}
    assert lines[len(files) :] == [
        f"Not for publication: notes.md is the section Unreleased of CHANGELOG.md, which has no {VERSION}."
    ]
    unowned = Plan(VERSION, release.output, "acme")
    assert [*listed(unowned, final=True)][-1].startswith("Not for publication: OWNER= or IMAGE= is not given")


def test_links_in_notes_lead_to_the_repository_at_the_tag(tmp_path: Path) -> None:
    plan = Plan("1.2.3", tmp_path, "acme")
    assert absolute("[a](docs/a.md#b) [c](https://d)", plan) == (
        "[a](https://github.com/acme/muster/blob/v1.2.3/docs/a.md#b) [c](https://d)"
    )


def test_the_bill_holds_every_package_that_the_wheel_needs_at_its_pinned_version(release: Plan) -> None:
    bill = json.loads((release.output / f"muster-{VERSION}.cdx.json").read_text())
    held = {component["name"]: component["version"] for component in bill["components"]}
    assert {"aiohttp", "numpy", "kopf", "multidict"} <= held.keys()
    assert {"pytest", "mypy", "ruff"} & held.keys() == set()
    assert held.items() <= pinned_versions().items()
    references = {component["bom-ref"] for component in bill["components"]}
    for dependency in bill["dependencies"]:
        assert set(dependency["dependsOn"]) <= references
    assert set(closure(["jinja2>=3"])) == {"jinja2", "markupsafe"}
    assert set(closure(["jinja2[unknown]"])) == {"jinja2", "markupsafe"}


def test_the_plugin_installs_itself_once_and_then_starts(release: Plan, tmp_path: Path) -> None:
    """With packages from the tests' environment instead of an index."""
    with tarfile.open(release.output / f"kubectl-muster-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path / "store", filter="data")
    program = tmp_path / "kubectl-muster"
    program.symlink_to(tmp_path / "store" / LAUNCHER.name)
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PYTHONPATH": sysconfig.get_path("purelib")}
    environment = {"PATH": os.defpath, "HOME": str(tmp_path), "PYTHON": sys.executable, **offline}

    first, second = (
        subprocess.run([program, "--version"], env=environment, cwd=tmp_path, capture_output=True, text=True)
        for _ in range(2)
    )

    assert first.returncode == 0, first.stderr
    assert VERSION in first.stdout
    home = f"{tmp_path}/.local/share/muster/{VERSION}"
    assert first.stderr.splitlines() == [f"installing Muster {VERSION} into {home}, once"]
    assert (second.stdout, second.stderr) == (first.stdout, "")


def test_the_plugin_names_the_python_that_it_needs(tmp_path: Path) -> None:
    environment = {"PATH": os.defpath, "HOME": str(tmp_path), "PYTHON": "false"}
    done = subprocess.run(["sh", LAUNCHER, "--version"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr.partition(";")[0]) == (1, "kubectl muster needs Python 3.11 or newer")


def test_make_release_passes_on_what_it_is_given_and_installs_its_tools() -> None:
    commands = recipe("release", "OWNER=acme", f"IMAGE={IMAGE}", "TAG=v1", "--always-make")
    assert commands[-1].split()[-3:] == ["--owner=acme", f"--image={IMAGE}", "--tag=v1"]
    assert "-m deploy.release" in "\n".join(commands[-2:])
    assert any(command.endswith("-e '.[release]'") for command in commands)
    assert not any("release]" in command for command in recipe("venv", "--always-make"))


def _install(plan: Plan) -> list[dict[str, Any]]:
    return [*yaml.safe_load_all((plan.output / "install.yaml").read_text())]


def _names(manifests: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(each["kind"], each["metadata"]["name"]) for each in manifests}
