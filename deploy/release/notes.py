"""The release notes: the version's section of CHANGELOG.md, with links that hold outside the repository."""

from __future__ import annotations

import re
from pathlib import Path

from deploy.release.plan import REPOSITORY, Plan, ReleaseError

UNRELEASED = "Unreleased"
_LINK = re.compile(r"\]\((?![a-z]+://|#)([^)\s]+)\)")


def build_notes(plan: Plan, *, final: bool) -> Path:
    """Writes the notes; returns their path. Before the release is `final`, what is unreleased stands in for it."""
    changelog = (REPOSITORY / "CHANGELOG.md").read_text()
    changes = section(changelog, plan.version)
    if changes is None and not final:
        changes = section(changelog, UNRELEASED)
    if not changes:
        raise ReleaseError(f"CHANGELOG.md has no section '## {plan.version}': rename '## {UNRELEASED}', and begin anew")
    path = plan.output / "notes.md"
    path.write_text(f"# Muster {plan.version}\n\n{_how_to_install(plan)}\n{absolute(changes, plan)}\n")
    return path


def section(changelog: str, heading: str) -> str | None:
    """The text below a heading of the second level, which may have a date behind it; None without that heading."""
    found = re.search(rf"^## {re.escape(heading)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else None


def absolute(text: str, plan: Plan) -> str:
    """The text with links to files of the repository turned into addresses of these files at the release's tag."""
    return _LINK.sub(lambda link: f"]({plan.home}/blob/{plan.tag}/{link[1]})", text)


def _how_to_install(plan: Plan) -> str:
    registry, _, _ = plan.image.rpartition("/")
    chart = f"oci://{registry}/charts/muster" if registry else plan.download(f"muster-{plan.version}.tgz")
    version = f" --version {plan.version}" if registry else ""
    return (
        "```\n"
        f"helm install muster {chart}{version} --namespace muster-system --create-namespace\n"
        f"kubectl apply --server-side -f {plan.download('install.yaml')}    # without Helm\n"
        "```\n"
    )
