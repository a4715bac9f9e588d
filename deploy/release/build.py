"""The making of a release, from its notes to the list of all files.

`python -m deploy.release` calls `build`, and so does a test that makes a release in a temporary folder. The notes
begin with the introduction of the version's section of CHANGELOG.md; the section's lists are folded below it, because a
release may have hundreds of changes. Links work outside the repository.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from deploy.release.agreement import findings, write_checksums
from deploy.release.bill import build_bill
from deploy.release.kubectl_plugin import build_archive, build_plugin_manifest
from deploy.release.packages import build_chart, build_distributions, build_manifest
from deploy.release.plan import REPOSITORY, Plan, ReleaseError, disagreements

UNRELEASED = "Unreleased"
_LINK = re.compile(r"\]\((?![a-z]+://|#)([^)\s]+)\)")


def build(plan: Plan, *, final: bool = False) -> None:
    """Empty the plan's folder and write the release into it. Raises ReleaseError if something is wrong."""
    stale = [*disagreements()]
    if stale:
        raise ReleaseError("\n".join(stale))
    shutil.rmtree(plan.output, ignore_errors=True)
    plan.output.mkdir(parents=True)
    build_notes(plan, final=final)
    _, wheel = build_distributions(plan)
    build_chart(plan)
    build_manifest(plan)
    build_plugin_manifest(plan, build_archive(plan, wheel))
    build_bill(plan)
    write_checksums(plan)
    wrong = [*findings(plan)]
    if wrong:
        raise ReleaseError("\n".join(wrong))


def build_notes(plan: Plan, *, final: bool) -> Path:
    """Write the notes; returns their path. Unless the release is `final`, they may be of the unreleased changes."""
    changelog = (REPOSITORY / "CHANGELOG.md").read_text()
    changes = section(changelog, heading_of_notes(changelog, plan.version, final=final))
    if not changes:
        raise ReleaseError(f"CHANGELOG.md has no section '## {plan.version}': rename '## {UNRELEASED}', and begin anew")
    path = plan.output / "notes.md"
    path.write_text(f"# Muster {plan.version}\n\n{_how_to_install(plan)}\n{folded(absolute(changes, plan))}\n")
    return path


def heading_of_notes(changelog: str, version: str, *, final: bool) -> str:
    """The heading of the section that the notes consist of: the version, or `UNRELEASED` while it has no section."""
    return version if final or section(changelog, version) is not None else UNRELEASED


def folded(changes: str) -> str:
    """A section with its lists behind a line that opens them, if the section has an introduction."""
    introduction, *lists = re.split(r"^(?=### )", changes, flags=re.MULTILINE)
    if not introduction or not lists:
        return changes
    return f"{introduction}<details>\n<summary>All changes</summary>\n\n{''.join(lists)}\n\n</details>"


def section(changelog: str, heading: str) -> str | None:
    """The text below a heading of the second level, which may end with a date; None without that heading."""
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
