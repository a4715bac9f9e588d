"""`python -m deploy.release`: makes a release in a folder, checks it, and lists it."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from deploy.release.agreement import CHECKSUMS, placeholders
from deploy.release.build import build, heading_of_notes
from deploy.release.plan import PLACEHOLDER, REPOSITORY, Plan, ReleaseError, project_version
from tests.controlplane.binaries import MissingBinaryError


def main() -> int:
    """Make, check and list a release; returns the exit code, 0 if the release is whole."""
    parser = argparse.ArgumentParser(prog="python -m deploy.release", description=__doc__)
    output = REPOSITORY / "dist" / "release"
    parser.add_argument("--output", type=Path, default=output, help="the folder, which is emptied first")
    parser.add_argument("--owner", default=PLACEHOLDER, help="the account that owns the repository")
    parser.add_argument("--image", default="muster", help="where the image is pushed to, without a tag")
    parser.add_argument("--tag", default="", help="the commit's tag; with it, the release is final")
    given = parser.parse_args()
    plan = Plan(project_version(), given.output.absolute(), given.owner, given.image.lower())
    try:
        if given.tag not in ("", plan.tag):
            raise ReleaseError(f"the tag is {given.tag}, but pyproject.toml says {plan.version}: expected {plan.tag}")
        print(f"Making Muster {plan.version} in {plan.output}: this takes some minutes ...", flush=True)
        build(plan, final=bool(given.tag))
        _check_with_tools(plan)
    except (ReleaseError, MissingBinaryError) as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(listed(plan, final=bool(given.tag))))
    return 0


def _check_with_tools(plan: Plan) -> None:
    """Check the metadata for the package index, and the bill of materials, with their own tools."""
    distributions = [str(path) for path in plan.output.iterdir() if path.name.startswith("muster_scheduler-")]
    _run("twine", "check", "--strict", *distributions)
    _run("deploy.release.bill", str(plan.output / f"muster-{plan.version}.cdx.json"))


def _run(module: str, *arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, cwd=REPOSITORY)
    if done.returncode:
        raise ReleaseError(f"{module}: {done.stdout}{done.stderr}")


def listed(plan: Plan, *, final: bool) -> Iterator[str]:
    """The lines that a maintainer reads: every file with its size and digest, and what is not fit for publication."""
    yield f"Muster {plan.version} in {plan.output}"
    sums = plan.output / CHECKSUMS
    digests = {name: digest for digest, name in map(str.split, sums.read_text().splitlines())}
    for name in (*digests, CHECKSUMS):
        yield f"  {(plan.output / name).stat().st_size:>9}  {digests.get(name, '')[:12]:12}  {name}"
    heading = heading_of_notes((REPOSITORY / "CHANGELOG.md").read_text(), plan.version, final=final)
    if heading != plan.version:
        yield f"Not for publication: notes.md is the section {heading} of CHANGELOG.md, which has no {plan.version}."
    if unfilled := placeholders(plan):
        yield f"Not for publication: OWNER= or IMAGE= is not given, and is lacking in {', '.join(unfilled)}."


if __name__ == "__main__":
    sys.exit(main())
