"""The documentation as web pages: `python -m deploy.site`, which `make site` calls.

The pages are those of the repository. They are gathered in a folder in which they lie to each other as here, so that
links between them hold as they are; a link to anything else in the repository becomes its address at the code host.
mkdocs then builds the site in strict mode, in which a dead link is an error. `mike`, which publishes versions side by
side, builds from the same folder.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from deploy.release.plan import PLACEHOLDER, REPOSITORY

PAGES = ("*.md", "docs/*.md", "charts/*/README.md")
PICTURES = ("docs/images",)
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)")


def gather(target: Path, owner: str = PLACEHOLDER) -> list[Path]:
    """Empties the folder and puts the pages and pictures there; returns the pages' paths within it."""
    shutil.rmtree(target, ignore_errors=True)
    pages = sorted(path.relative_to(REPOSITORY) for pattern in PAGES for path in REPOSITORY.glob(pattern))
    for page in pages:
        (target / page).parent.mkdir(parents=True, exist_ok=True)
        (target / page).write_text(with_addresses(page, owner))
    for folder in PICTURES:
        shutil.copytree(REPOSITORY / folder, target / folder)
    return pages


def with_addresses(page: Path, owner: str) -> str:
    """The text of a page, in which links to what is no page and no picture are addresses at the code host."""

    def addressed(link: re.Match[str]) -> str:
        linked = ((REPOSITORY / page).parent / link[1]).resolve().relative_to(REPOSITORY)
        if any(linked.match(pattern) and len(linked.parts) == len(Path(pattern).parts) for pattern in PAGES):
            return link[0]
        if any(linked.is_relative_to(folder) for folder in PICTURES):
            return link[0]
        kind = "tree" if (REPOSITORY / linked).is_dir() else "blob"
        return f"]({address(owner)}/{kind}/main/{linked.as_posix()}"

    return _LINK.sub(addressed, (REPOSITORY / page).read_text())


def address(owner: str) -> str:
    """Where the repository is."""
    return f"https://github.com/{owner}/muster"


def main() -> int:
    """Exit code 0 where the site was built without a warning."""
    parser = argparse.ArgumentParser(prog="python -m deploy.site", description=__doc__)
    parser.add_argument("--owner", default=PLACEHOLDER, help="the account that owns the repository")
    parser.add_argument("--only-gather", action="store_true", help="gather the pages, and leave the building to mike")
    given = parser.parse_args()
    gather(REPOSITORY / "build" / "pages", given.owner)
    if given.only_gather:
        return 0
    # Without this variable, the theme advertises its successor.
    environment = os.environ | {"REPOSITORY_URL": address(given.owner), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(command, cwd=REPOSITORY, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
