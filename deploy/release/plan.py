"""The plan of a release: its version, who publishes it, and where its files go.

The version is pyproject.toml's. Other files of the repository repeat it, for people and for programs that read nothing
else; `disagreements` names the files that were forgotten when the version was raised.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PLACEHOLDER = "OWNER"
"""Stands for the account that owns the repository, wherever a file of the repository needs an address."""
_REPEATED = {
    "charts/muster/Chart.yaml": (r"^version: (\S+)$", r"^appVersion: (\S+)$"),
    "deploy/kustomization.yaml": (r"^    newTag: (\S+)$",),
    "deploy/manifests/deployment.yaml": (r"app\.kubernetes\.io/version: \"?([^\s\"]+)\"?$", r"image: muster:(\S+)$"),
}


class ReleaseError(RuntimeError):
    """Raised if a release cannot be made; the text says why, and what to do."""


@dataclass(frozen=True)
class Plan:
    """A release.

    Attributes:
        version: the version of everything in it.
        output: the folder for its files.
        owner: the account that publishes it.
        image: the image's repository, without a tag.
    """

    version: str
    output: Path
    owner: str = PLACEHOLDER
    image: str = "muster"

    @property
    def tag(self) -> str:
        """The tag of its commit."""
        return f"v{self.version}"

    @property
    def home(self) -> str:
        """The repository's address."""
        return f"https://github.com/{self.owner}/muster"

    def download(self, name: str) -> str:
        """The address of one of its files after publication."""
        return f"{self.home}/releases/download/{self.tag}/{name}"

    def owned(self, text: str) -> str:
        """A text of the repository with the owner's name in it."""
        return re.sub(rf"\b{PLACEHOLDER}\b", self.owner, text)


def project_version(repository: Path = REPOSITORY) -> str:
    """The one version."""
    with (repository / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def disagreements(repository: Path = REPOSITORY) -> Iterator[str]:
    """A line for each file that repeats another version than pyproject.toml's, or lacks the version."""
    version = project_version(repository)
    for name, patterns in _REPEATED.items():
        text = (repository / name).read_text()
        for pattern in patterns:
            found = set(re.findall(pattern, text, re.MULTILINE))
            if found != {version}:
                yield f"{name} says {', '.join(sorted(found)) or 'nothing'} where pyproject.toml says {version}"
