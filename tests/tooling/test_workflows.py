"""The workflow files for the code host, which run nowhere here: that all they name is there, and who they are to be."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tooling.test_packaging import REPOSITORY

FOLDER = REPOSITORY / ".github"
WORKFLOWS = sorted((FOLDER / "workflows").glob("*.yml"))
RELEASING = (REPOSITORY / "docs" / "releasing.md").read_text()
_TARGETS = set(re.findall(r"^([a-z0-9-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
_PUBLISHED = ("*.md", "*.yml", "*.yaml", "docs/**/*.md", "charts/**/*", ".github/**/*")


def jobs(workflow: Path) -> dict[str, dict[str, Any]]:
    """The jobs of a workflow by their names."""
    return dict(yaml.safe_load(workflow.read_text())["jobs"])


def commands(workflow: Path) -> Iterator[str]:
    """What the steps of a workflow run."""
    for job in jobs(workflow).values():
        yield from (step["run"] for step in job["steps"] if "run" in step)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: str(path.stem))
def test_a_workflow_may_read_and_each_job_says_what_more_it_may_and_how_long(workflow: Path) -> None:
    assert yaml.safe_load(workflow.read_text())["permissions"] == {"contents": "read"}
    for name, job in jobs(workflow).items():
        assert (name, job.get("timeout-minutes", 0) > 0) == (name, True)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: str(path.stem))
def test_jobs_commands_and_actions_of_a_workflow_exist(workflow: Path) -> None:
    known = jobs(workflow)
    for job in known.values():
        needs = job.get("needs", [])
        assert {*([needs] if isinstance(needs, str) else needs)} <= known.keys()
    for command in commands(workflow):
        assert set(re.findall(r"^make ([a-z0-9-]+)", command, re.MULTILINE)) <= _TARGETS
    used = re.findall(r"uses: \./(\S+)", workflow.read_text())
    assert [path for path in used if not (REPOSITORY / path / "action.yml").is_file()] == []


def test_checks_run_what_any_machine_runs_and_every_night_runs_what_takes_long() -> None:
    assert ".ci/run" in commands(FOLDER / "workflows" / "checks.yml")
    assert "make nightly" in commands(FOLDER / "workflows" / "nightly.yml")


def test_a_release_is_published_after_all_that_its_notes_name() -> None:
    release = jobs(FOLDER / "workflows" / "release.yml")
    assert {"files", "image", "chart", "package"} == set(release["publish"]["needs"])
    attested = [name for name, job in release.items() if job.get("permissions", {}).get("attestations") == "write"]
    assert attested == ["files", "image"]
    signed = [command for command in commands(FOLDER / "workflows" / "release.yml") if "cosign sign" in command]
    assert len(signed) == len(["SHA256SUMS", "the image", "the chart"])


def test_variables_secrets_and_environments_of_workflows_are_in_the_documentation() -> None:
    text = "\n".join(workflow.read_text() for workflow in WORKFLOWS)
    names = set(re.findall(r"\b(?:vars|secrets)\.(\w+)|environment: (\S+)", text))
    wanted = {one or other for one, other in names} - {"GITHUB_TOKEN"}
    assert wanted == {"REGISTRY", "REGISTRY_USER", "REGISTRY_TOKEN", "package-index"}
    assert [name for name in wanted if f"`{name}`" not in RELEASING] == []


def test_every_file_that_waits_for_its_owners_name_is_in_the_documentation() -> None:
    files = {path for pattern in _PUBLISHED for path in REPOSITORY.glob(pattern) if path.is_file()}
    waiting = {
        path.relative_to(REPOSITORY).as_posix()
        for path in files
        if path.suffix not in (".png",) and re.search(r"(github\.com/|@)OWNER\b", path.read_text())
    }
    [table] = re.findall(r"\| place \| what to do \|\n(.*?)\n\n", RELEASING, re.DOTALL)
    assert waiting - {"docs/releasing.md"} == set(re.findall(r"`([\w./-]+\.(?:yml|yaml)|\.github/CODEOWNERS)`", table))


@pytest.mark.parametrize("form", sorted((FOLDER / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda path: str(path.stem))
def test_a_form_asks_for_what_it_names_once(form: Path) -> None:
    read = yaml.safe_load(form.read_text())
    assert {"name", "description", "body"} <= read.keys()
    names = [field["id"] for field in read["body"]]
    assert len(names) == len(set(names))
    assert any(field.get("validations", {}).get("required") for field in read["body"])
